/** What a story needs beside its requests: mail that arrives, receivers, an OpenID provider, and what the service does later. */
import type { OpenIdWorld } from '../../support/world/openid-provider.ts';

export type MailedPage = 'apply' | 'mailbox' | 'privacy' | 'quotation' | 'rfq' | 'signin';

export type World = {
  /** Resolves when every read model has folded the log. */
  folded(): Promise<void>;
  /** Resolves when the outreach request has this status. */
  reached(outboundId: string, status: string): Promise<void>;
  /** Resolves when the visits beyond the limit of one address are summed, for the agent with this key. */
  summed(apiKey: string): Promise<void>;
  /** Resolves when the log has an event of each of these types. */
  happened(...types: string[]): Promise<void>;
  /**
   * Resolves to the path of the link that begins so in the newest letter to the mailbox, once `count` letters to it have
   * one. Without a mailbox, of all letters.
   */
  mailedLink(page: MailedPage, to?: string, count?: number): Promise<string>;
  /** The origin of receivers that are well, or not, as the path or the text says that they get (receivers.ts). */
  hook: string;
  provider: OpenIdWorld;
};
