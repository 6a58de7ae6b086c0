import type { EventData } from '#contracts/registries/events.ts';
import { isTestSpace } from '#contracts/spaces.ts';
import { companyDomains } from '#src/shared/mailbox.ts';
import type { Secrets } from '#src/ports/system.ts';
import { present } from '#src/shared/present.ts';

type HintFacts = {
  company?: { website?: string | undefined } | undefined;
  contact?: { email: string; phone?: string | undefined } | undefined;
};

/**
 * Keyed hashes of the telephone of a lead and of the domains that tell its company; undefined if it has neither. Test
 * spaces have hashes of their own.
 */
export const deriveHintKeys = (
  { mac }: Pick<Secrets, 'mac'>,
  ownerId: string,
  { contact, company }: HintFacts,
): EventData<'LeadSubmitted'>['hint_keys'] => {
  const space = isTestSpace(ownerId) ? 'test' : 'live';
  const keyOf = (kind: string, value: string): string =>
    mac('lead-hint', `${space}:${kind}:${value}`);
  const domains = companyDomains(contact?.email, company?.website);
  if (contact?.phone === undefined && domains.length === 0) return undefined;
  return {
    ...present({ phone: contact?.phone && keyOf('phone', contact.phone) }),
    domains: domains.map((domain) => keyOf('domain', domain)),
  };
};
