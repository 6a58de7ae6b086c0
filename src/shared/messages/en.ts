/**
 * The English texts of buyers' pages and letters. `{name}` is a value, and `**` encloses what is strong on pages. A text that
 * depends on a number has a form for each plural of the language, which `count` selects.
 */
export const en = {
  // Who sells.
  house_sold_by: 'Sold by {house}.',
  house_vat: 'VAT number {number}.',
  house_phone: 'Telephone {phone}.',
  house_mailbox: 'Questions: {mailbox}.',
  house_prices_nothing: 'Prices do not include VAT or delivery.',
  house_prices_vat: 'Prices include VAT, but not delivery.',
  house_prices_delivery: 'Prices include delivery, but not VAT.',
  house_prices_both: 'Prices include VAT and delivery.',
  house_answer: {
    one: 'Staff answer within {count} working day.',
    other: 'Staff answer within {count} working days.',
  },

  // The frame of pages.
  frame_skip: 'Skip to the content',
  frame_purpose:
    'Tributary carries lists between promoters, buyers and staff. It places no orders and takes no payment.',
  frame_about_nav: 'About this service',
  frame_about: 'About',
  frame_products: 'Products',
  frame_docs: 'Documentation',
  frame_problems: 'Problems',
  frame_privacy: 'Your data',
} as const;
