/** A text that is stored unencrypted has no contact details of a person: every text of every operation of the contract. */
import { describe, expect, it } from 'vitest';
import { type Exemption, exemptions } from '#contracts/fields.ts';
import { type InputText, inputTexts } from '../support/world/input-texts.ts';

const CONTACTS = [
  'jane.roe@shop.example',
  'jane.roe@shop.example +44 20 7946 0958',
  'Shop, jane.roe@bücher.example',
  'jane.roe@xn--bcher-kva.example',
  'ｊａｎｅ@ｓｈｏｐ.example',
  'jane@例え。example',
  'ja\u00adne@sh\u200dop.example',
  '+442079460958',
  'tel. +44 (0)20 7946 0958',
  '＋４４ 20 7946\u00a00958',
  '+44\u00ad20\u200d7946\u00a00958',
];

/** A call whose input is audited stores what it only reads. */
const exemptionOf = ({ schema, operation }: InputText): Exemption | undefined => {
  const exemption = exemptions.get(schema)?.exemption;
  return exemption === 'unstored' && operation.auditsInput ? undefined : exemption;
};
const texts = inputTexts();

describe('A text that a caller gives', () => {
  it('A text that a caller gives is refused with an address or a telephone number unless the contract exempts it by name', () => {
    const accepted = texts
      .filter((text) => exemptionOf(text) === undefined)
      .flatMap(({ at, schema }) =>
        CONTACTS.filter((contact) => schema.safeParse(contact).success).map(
          (contact) => `${at} ${contact}`,
        ),
      );
    expect(accepted).toEqual([]);
  });

  it('A text with an address is refused with a fault that says so, and not for another reason', () => {
    const free = texts.filter(
      (text) => exemptionOf(text) === undefined && text.schema.safeParse('A plain name').success,
    );
    expect(free.length).toBeGreaterThan(40);
    for (const { at, schema } of free) {
      const issues = schema.safeParse('jane.roe@shop.example').error?.issues ?? [];
      expect([...issues], at).toContainEqual(
        expect.objectContaining({ params: { code: 'pii_not_allowed' } }),
      );
    }
  });

  it.each<[Exemption, string[]]>([
    ['staff', ['assignRecord /person', 'issueDeskToken /name', 'issueDeskToken /person_id']],
    [
      'product',
      [
        'importProducts /products/-/product/title',
        'withdrawProduct /sku',
        'createHandoff /line_items/-/sku',
      ],
    ],
    ['url', ['submitLead /company/website', 'a2a:SendMessage /push/url']],
    ['hashed', ['createLink /idempotency_key', 'a2a:SendMessage /messageId']],
    ['encrypted', ['submitLead /contact/email', 'submitRfq /contact/message', 'addNote /note']],
    ['unstored', ['searchProducts /q', 'createList /address']],
  ])(
    'A text that a caller gives is exempt from the search for personal data as %s by name',
    (exemption, some) => {
      const named = texts.filter((text) => exemptionOf(text) === exemption).map(({ at }) => at);
      expect(named).toEqual(expect.arrayContaining(some));
    },
  );

  it('A text that a caller gives is exempt as a product or as staff only at the desk, or where the catalog is read', () => {
    const given = texts.filter((text) => ['product', 'staff'].includes(exemptionOf(text) ?? ''));
    const ids = new Set(given.map(({ operation }) => operation.id));
    expect([...ids].toSorted()).toEqual([
      'assignRecord',
      'auditPerformance',
      // Names a product of the catalog.
      'createHandoff',
      'getPerformance',
      'importProducts',
      'invitePerson',
      'issueDeskToken',
      'listAccessRequests',
      'listInbox',
      'listOpenLeads',
      'listRfqs',
      'quoteRfq',
      'readProduct',
      'reviseHandoff',
      'searchProducts',
      'showPerformance',
      'withdrawProduct',
    ]);
  });
});
