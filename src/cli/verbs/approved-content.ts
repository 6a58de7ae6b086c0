/** The content that a decision on an outreach request is bound to. */
import { createInterface } from 'node:readline/promises';
import { InvalidArgumentError } from 'commander';
import type { CommonOptions } from '../options.ts';
import type { Desk, DeskRequest } from '#src/cli/desk/desk-transport.ts';
import { CommandError, EXIT, printNotice } from '../terminal/output.ts';
import { approvalText } from '../texts/approval-text.ts';

type Decision = Partial<DeskRequest<'approveOutbound'>>;

const HASH_CHARS = 64;

export const parseHash = (text: string): string => {
  if (/^[0-9a-f]{12,64}$/.test(text)) return text;
  throw new InvalidArgumentError('It must be the first 12 to 64 digits that show prints.');
};

const showRequest = (desk: Desk, { outbound_id = '', owner_id }: Decision) =>
  desk.call('showApproval', { outbound_id, owner_id });

/** Completes the hash of the content: of its first digits, or of the present content where none is given. */
export const completeHash = async <Input extends Decision>(
  desk: Desk,
  input: Input,
): Promise<Input> => {
  const { content_sha256: given = '' } = input;
  if (given.length === HASH_CHARS) return input;
  const present = (await showRequest(desk, input)).request.content_sha256;
  // A hash that no content has is refused as a mismatch.
  const hash = present.startsWith(given) ? present : given.padEnd(HASH_CHARS, '0');
  return { ...input, content_sha256: hash };
};

/** Requires a look at the content: with the hash of it, or by showing the content and asking on a terminal. */
export const confirmContent = async (
  desk: Desk,
  input: Decision,
  { json }: CommonOptions,
): Promise<Decision> => {
  if (input.content_sha256 !== undefined) return completeHash(desk, input);
  const { outbound_id: id = '' } = input;
  if (!process.stdin.isTTY || json)
    throw new CommandError(
      EXIT.usage,
      `name the content: look at it with tributary approvals show ${id}, and approve it with --sha256 HASH`,
    );
  const approval = await showRequest(desk, input);
  printNotice(approvalText(approval));
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const reply = await terminal.question('\nApprove exactly this? [y/N] ');
  terminal.close();
  if (!/^y(es)?$/i.test(reply.trim()))
    throw new CommandError(EXIT.refused, 'Nothing was approved.');
  return { ...input, content_sha256: approval.request.content_sha256 };
};
