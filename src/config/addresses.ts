import { z } from 'zod';

/** Normalizes host and port as URLs do, because they are compared with parts of URLs. */
export const hostPort = z
  .string()
  .refine((value) => /^[^/?#@\s]+:\d{1,5}$/.test(value) && URL.canParse(`http://${value}`), {
    error: 'must be host:port, several separated by commas',
  })
  .transform((value) => {
    const { hostname } = new URL(`http://${value}`);
    return `${hostname}:${Number(value.slice(value.lastIndexOf(':') + 1))}`;
  });

/** An address, a network in CIDR notation, or a named range. */
const proxy = z.union([
  z.ipv4(),
  z.ipv6(),
  z.cidrv4().refine((text) => !text.endsWith('/0')),
  z.cidrv6().refine((text) => !text.endsWith('/0')),
  z.enum(['loopback', 'linklocal', 'uniquelocal']),
]);

/** Values of fastify's `trustProxy`, except those that it ignores (`1`) or crashes on (`maybe`). */
export const proxies = z
  .string()
  .transform((value) => value.split(',').map((each) => each.trim()))
  .refine(
    (entries) =>
      ['true', 'false'].includes(entries.join()) ||
      entries.every((each) => proxy.safeParse(each).success),
    {
      error:
        'must be true (all senders are your proxies), false, or the addresses of your proxies ' +
        'separated by commas, like 10.0.0.0/8,::1 or loopback (also linklocal, uniquelocal)',
    },
  )
  .transform((entries): boolean | string => {
    const value = entries.join();
    return value === 'true' || value === 'false' ? value === 'true' : value;
  });

/** An SMTP server. Errors do not quote the URL: it may contain a password. */
export const smtpUrl = z
  .string()
  .refine(
    (value) =>
      /^smtps?:\/\/[^/?#\s]+\/?(?:\?tlsCAFile=[^&#\s]+)?$/.test(value) && URL.canParse(value),
    {
      error: 'must be like smtps://USER:PASSWORD@HOST:465 or smtp://HOST:587, or with ?tlsCAFile=',
    },
  )
  .transform((value) => new URL(value));

export const isOrigin = (value: string): boolean => {
  if (!/^https?:\/\//i.test(value) || !URL.canParse(value)) return false;
  const { href, origin } = new URL(value);
  return href === `${origin}/` && !/[?#]/.test(value);
};

/** Values that are separated by commas. */
export const listOf = <Item extends z.ZodType<unknown, string>>(item: Item) =>
  z
    .string()
    .default('')
    .transform((value) => value.split(',').flatMap((each) => each.trim() || []))
    .pipe(z.array(item));

export const originList = listOf(
  z
    .string()
    .refine(isOrigin, {
      error: 'must be origins like https://img.example, without path, separated by commas',
    })
    .transform((value) => new URL(value).origin),
);
