/** Records of people and their sessions as operations answer them. */
import { z } from 'zod';
import { id, time } from '#contracts/fields.ts';
import { DESK_ROLE_NAMES } from '#contracts/scopes.ts';

export const personRecord = z
  .object({
    id: id('per'),
    name: z.string(),
    status: z.enum(['invited', 'active', 'ended']).describe('invited: has never signed in'),
    roles: z.array(z.enum(DESK_ROLE_NAMES)),
    owners: z
      .array(z.string())
      .describe('The promoters for whom a person with the role owner acts'),
    ways: z
      .array(z.enum(['mailed_link', 'passkey', 'openid']))
      .describe('How the person can sign in'),
    invited_by: z.string().nullable().describe('The person, or the machine; null: nobody'),
    invitation_expires_at: time.optional(),
    last_sign_in_at: time.nullable(),
    reason: z.string().optional().describe('Why the person was ended'),
    created_at: time,
  })
  .meta({ id: 'Person' });

export const sessionRecord = z
  .object({
    id: z.string(),
    used_in: z
      .enum(['browser', 'command_line'])
      .describe('command_line: the token of tributary login'),
    way: z
      .enum(['mailed_link', 'invitation', 'printed_link', 'passkey', 'openid', 'device'])
      .describe('How the person signed in'),
    device: z.string().describe('As the browser or the command names it'),
    place: z.string().describe('The network of the last use, in words'),
    places: z.int().describe('Number of networks in which it was used'),
    started_at: time,
    used_at: time.describe('The last recorded use'),
    expires_at: time,
    is_current: z.boolean().describe('Whether this call was made with it'),
  })
  .meta({ id: 'Session' });

export const passkeyRecord = z.object({
  id: z.string(),
  name: z.string().describe('What the person calls it'),
});

/** Who acts: a person, the holder of a desk token, or the machine. */
export const actingAs = z
  .object({
    acts_as: z
      .enum(['person', 'token', 'machine'])
      .describe('machine: the token of the data directory, which belongs to nobody'),
    id: z.string().describe('Of the person or of the desk token'),
    name: z.string(),
    roles: z.array(z.enum(DESK_ROLE_NAMES)),
    owners: z.array(z.string()),
    session: sessionRecord.optional(),
    passkeys: z.array(
      passkeyRecord.extend({
        refused_at: time
          .optional()
          .describe('When a sign-in was refused because there may be a copy of the passkey'),
      }),
    ),
    accounts: z.array(z.object({ issuer: z.string() })).describe('Accounts of OpenID providers'),
  })
  .meta({ id: 'ActingAs' });

export type ActingAs = z.infer<typeof actingAs>;
export type PersonRecord = z.infer<typeof personRecord>;
export type SessionRecord = z.infer<typeof sessionRecord>;
