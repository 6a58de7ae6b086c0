/**
 * What happens weeks before the story, so that it is over when the story begins: an RFQ that is not confirmed, a post
 * without a decision, letters that a mail server does not accept, and a clock that is wrong for a while. The owner is fern.
 */
import { SCOPE_NAMES } from '#contracts/scopes.ts';
import { feedProduct } from '../../support/world/app.ts';
import { callTool } from './agents.ts';
import { press } from './buyers.ts';
import { FILES } from './outreach.ts';
import { grantAccess } from './owners.ts';
import { idOf, type Recorder } from './recorder.ts';
import type { World } from './world.ts';

/** What happens to letters to the mailboxes with these names, which the mail server of the past does not serve (receivers.ts). */
const BAD_MAILBOXES = { lost: 'MailOutcomeUnknown', refused: 'MailFailed' };

const fillCatalog = async (recorder: Recorder): Promise<void> => {
  const products = [
    feedProduct('MUG-1', { title: 'Blue mug' }),
    feedProduct('MUG-2', { title: 'Red mug' }, { available_quantity: 3, level: 'low' }),
    feedProduct('CAN-1', { title: 'Beeswax candle', category: 'Candles' }),
    feedProduct('OLD-1', { title: 'Withdrawn tray' }),
  ];
  await recorder.desk('import-1', '/products/import', { products });
  const dearer = feedProduct('CAN-1', { title: 'Beeswax candle', description: 'In a tin' });
  await recorder.desk('import-2', '/products/import', { products: [dearer] });
  await recorder.desk('withdraw-1', '/products/withdraw', { sku: 'OLD-1', reason: 'Recalled' });
};

/** A decision on a request for access is mailed to the owner, once. */
const mailInVain = async (recorder: Recorder, name: string): Promise<void> => {
  const mailbox = `${name}@fern.example`;
  const profile = { name: 'Fern & Co', postal_address: '5 High Street', mailbox };
  await recorder.desk(`profile-${name}`, '/owners/fern/profile', profile);
  const confirmed = { mailbox, reason: 'Felix wrote from it' };
  await recorder.desk(`mailbox-${name}`, '/owners/fern/mailbox/confirm', confirmed);
  const asked = { owner_id: 'fern', name: 'Scout', purpose: 'Posts', scopes: ['products:read'] };
  const agent = idOf(await recorder.desk(`request-${name}`, '/agents', asked));
  await recorder.desk(`deny-${name}`, `/agents/${agent}/deny`, { reason: 'Not needed' });
};

export const playPast = async (recorder: Recorder, world: World): Promise<void> => {
  const { ids } = recorder;
  await fillCatalog(recorder);
  ({ agent: ids['fern agent'] } = await grantAccess(recorder, 'fern', SCOPE_NAMES));
  const settings = { mode: 'admin_approved', approvals_required: 1, channels: FILES };
  await recorder.desk('outreach-fern', '/outreach/fern', settings);
  const post = await callTool(recorder, 'request_social_post', {
    as: 'fern',
    idempotency_key: 'post-of-fern',
    network: 'mastodon',
    account_ref: 'shop',
    text: 'Candles are back in stock.',
  });
  ids['expired request'] = idOf(post);
  const list = { title: 'Candles', line_items: [{ sku: 'CAN-1', quantity: 6 }] };
  const made = await recorder.agent('handoff-of-fern', '/handoffs', list, 'fern');
  const path = new URL(String(made['review_url'])).pathname;
  const buyer = { name: 'Kim Buyer', email: 'kim@inn.example', consent: 'yes' };
  await press(recorder, 'kim: send', {
    path,
    button: 'send',
    fields: { list_revision: '1', ...buyer },
  });
  for (const [name, outcome] of Object.entries(BAD_MAILBOXES)) {
    await mailInVain(recorder, name);
    // The next profile makes letters to the mailbox of this one unreadable.
    await world.happened(outcome);
  }
  await world.folded();
};

/** Something that is stored while the clock is a day ahead. */
export const actAhead = async (recorder: Recorder): Promise<void> => {
  const suspended = `/agents/${recorder.ids['fern agent']}/suspend`;
  await recorder.desk('suspend-fern', suspended, { reason: 'Unpaid bill' });
};

/** The clock is right again, and an operator says so. */
export const acceptClock = async (recorder: Recorder): Promise<void> => {
  await recorder.desk('accept-clock', '/clock/accept', { reason: 'It was a day ahead' });
  const reinstated = `/agents/${recorder.ids['fern agent']}/reinstate`;
  await recorder.desk('reinstate-fern', reinstated, { reason: 'The bill is paid' });
};
