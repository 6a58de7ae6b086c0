import { ATTRIBUTION_PARAMETER } from '#contracts/links/attribution-token.ts';
import { freshKey, type TestApp } from './app.ts';

export const BROWSER = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';

export type CreatedLink = {
  id: string;
  code: string;
  short_url: string;
  destination_url: string;
  qr_svg_url: string;
  qr_png_url: string;
};

/** Creates a link to the product MUG-1, unless `body` has another target. */
export const createShortLink = async (
  app: TestApp,
  key: string,
  body: object = {},
): Promise<CreatedLink> => {
  const answer = await app.send({
    method: 'POST',
    url: '/api/affiliate/v1/links',
    key,
    payload: { target: { kind: 'product', ref: 'MUG-1' }, ...body },
    headers: { 'idempotency-key': freshKey() },
  });
  if (answer.status !== 201) throw new Error(answer.text);
  return answer.body;
};

/** Splits the address that a redirect leads to into the address of the page and the token. */
export const splitLanding = ({
  headers,
}: {
  headers: Record<string, string>;
}): { page: string; token: string | undefined } => {
  const [page = '', token] = (headers['location'] ?? '').split(
    new RegExp(`[?&]${ATTRIBUTION_PARAMETER}=`),
  );
  return { page, token };
};
