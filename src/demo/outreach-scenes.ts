/** Outreach that agents propose: a post that the owner sends back, its second version, a mail refused. */
import { LINK_DISCLOSURE } from '#contracts/boundaries.ts';
import { DEMO_AGENT, OWNERS } from './cast.ts';
import { known, type Memory, type Scene } from './scenes.ts';
import type { Stage } from './stage.ts';

const PERSON = OWNERS.northwind;
const POST = { network: 'mastodon' as const, account_ref: 'northwind-gifts' };

/** What stands last still waits for the owner, so that a first look at the approvals finds it. */
export const outreachScenes = (stage: Stage, { links }: Memory, link: string): Scene[] => {
  let post = { id: '', sha256: '' };
  let mail = { id: '', sha256: '' };
  const shortUrl = () => `${stage.service.deps.origin()}/l/${known(links, link).shortCode}`;
  return [
    {
      day: 27.3,
      async play() {
        const { id, content_sha256 } = await stage.agent(DEMO_AGENT, 'requestMessage', {
          channel: 'email',
          recipient_ref: 'list:shops-2024',
          subject: 'Last chance',
          text: 'Everything must go by Friday. Reply for a list.',
        });
        mail = { id, sha256: content_sha256 };
      },
    },
    {
      day: 27.8,
      play: () =>
        stage.desk(PERSON, 'refuseOutbound', {
          outbound_id: mail.id,
          content_sha256: mail.sha256,
          reason: 'It is no last chance: the candles stay in the range',
        }),
    },
    {
      day: 28.2,
      async play() {
        const { id, content_sha256 } = await stage.agent(DEMO_AGENT, 'requestSocialPost', {
          ...POST,
          text: `Candles for the season: ${shortUrl()} ${LINK_DISCLOSURE}`,
          link_ids: [known(links, link).id],
        });
        post = { id, sha256: content_sha256 };
      },
    },
    {
      day: 28.7,
      play: () =>
        stage.desk(PERSON, 'requestOutboundChanges', {
          outbound_id: post.id,
          content_sha256: post.sha256,
          reason: 'Say the minimum order',
        }),
    },
    {
      day: 29.3,
      play: () =>
        stage.agent(DEMO_AGENT, 'requestSocialPost', {
          ...POST,
          revises: post.id,
          text: `Candles for the season, from six pieces: ${shortUrl()} ${LINK_DISCLOSURE}`,
          link_ids: [known(links, link).id],
        }),
    },
  ];
};
