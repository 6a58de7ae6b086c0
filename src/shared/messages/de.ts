/** The German texts; en.ts says what the signs in them mean. */
import type { Messages } from '../messages.ts';

export const de: Messages = {
  house_sold_by: 'Verkauf durch {house}.',
  house_vat: 'USt-IdNr. {number}.',
  house_phone: 'Telefon {phone}.',
  house_mailbox: 'Fragen: {mailbox}.',
  house_prices_nothing: 'Die Preise verstehen sich ohne Mehrwertsteuer und ohne Versand.',
  house_prices_vat: 'Die Preise enthalten die Mehrwertsteuer, aber nicht den Versand.',
  house_prices_delivery: 'Die Preise enthalten den Versand, aber nicht die Mehrwertsteuer.',
  house_prices_both: 'Die Preise enthalten Mehrwertsteuer und Versand.',
  house_answer: {
    one: 'Das Verkaufsteam antwortet innerhalb von {count} Werktag.',
    other: 'Das Verkaufsteam antwortet innerhalb von {count} Werktagen.',
  },

  frame_skip: 'Zum Inhalt springen',
  frame_purpose:
    'Tributary vermittelt Listen zwischen Partnern, Käufern und Verkauf. Hier wird nichts bestellt und nichts bezahlt.',
  frame_about_nav: 'Über diesen Dienst',
  frame_about: 'Überblick',
  frame_products: 'Produkte',
  frame_docs: 'Dokumentation',
  frame_problems: 'Fehler',
  frame_privacy: 'Ihre Daten',
};
