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
  pages: 'Pages',
  previous: 'Previous',
  next: 'Next',
  page_of: 'Page {page} of {pages}',

  // Lists, line by line.
  product: 'Product',
  quantity: 'Quantity',
  unit_price: 'Unit price',
  total: 'Total',
  indicative_total: 'Indicative total',
  lines: 'Lines',
  line_count: { one: '{count} line', other: '{count} lines' },
  reference: 'Reference',
  lines_caption: 'Prices are indicative, per unit.',
  lines_caption_form: 'Prices are indicative, per unit, for the quantity shown.',
  lines_place:
    'Page {page} of {pages}: {shown} of {all} lines. The totals are those of the whole list.',
  lines_pages: 'Pages of the list',
  page_number: 'Page {page}',
  quantity_of: 'Quantity of {title}',
  at_least: 'at least {least}',
  in_steps: 'in steps of {step}',
  total_now: 'At today’s prices: {total}. Staff quote what is binding.',
  update_quantities: 'Update quantities',
  use_quantity: 'Use {quantity}',
  take_off: 'Take off the list',
  more_for_less: '{more} more: {price} each',
  warning_below_moq: 'The quantity is below the minimum order quantity',
  warning_off_increment: 'The quantity is not a multiple of the order increment',
  warning_stock_below_quantity: 'The stock last reported is below the quantity on the list',
  warning_free: 'The price is 0, which may be a mistake of the catalog',
  warning_withdrawn: 'The product is no longer offered',
  remark_price_changed:
    'The price is now {now}; it was {was} when this line was priced. That is {sum_now} in place of {sum_was}.',
  remark_price_when_sent: 'The price was {price} when you sent this.',
  remark_withdrawn: 'No longer offered. Set the quantity to 0 to take it off the list.',
  remark_withdrawn_because:
    'No longer offered: “{reason}”. Set the quantity to 0 to take it off the list.',

  // Where a request is.
  steps: 'Where your request is',
  step_list: 'List',
  step_sent: 'Sent',
  step_confirmed: 'Confirmed',
  step_taken_up: 'Taken up',
  step_quoted: 'Quoted',
  step_agreed: 'Agreed',
  step_shipped: 'Shipped',
  step_lost: 'Ended without a deal',
  step_withdrawn: 'Withdrawn',

  // The page of a list.
  review_check: 'Please check: {title}',
  review_faults: 'Please check what you typed; nothing was sent or changed',
  review_own_title: 'Your list',
  review_own: 'You made this list.',
  review_own_credited:
    'You made this list after you followed a link of the promoter **{promoter}**, who may be rewarded for what comes of it.',
  review_for: 'A list for {company} to review',
  review_for_you: 'A list for you to review',
  review_prepared:
    'Prepared by **{agent}**, a software agent acting for the promoter **{promoter}**, who may be rewarded for what comes of it.',
  review_was_prepared:
    'The list was prepared by {agent}, a software agent acting for {promoter}, who may be rewarded for what comes of it.',
  review_look_at: 'To look at',
  review_nothing: 'Nothing',
  review_open_until: 'Open until',
  review_note: 'A note to you',
  review_promise:
    '**Nothing is ordered until staff and you agree.** Sending asks for a quotation only: no stock is reserved, no price is accepted and nothing is paid.',
  review_test: 'This is a test list. Nobody receives it when you send it.',
  review_was_test: 'This was a test list.',
  review_list: 'The list',
  review_change:
    'Change what you like; “Update quantities” shows what it comes to. 0 takes a product off.',
  review_version: 'This is version {version} of the list, with the changes made here.',
  review_add: 'Add a product',
  review_no: 'Not for you?',
  ask_for_quotation: 'Ask for a quotation',
  review_removed: 'Taken off the list',
  review_removed_quantity: 'quantity {quantity}',
  review_put_back: 'Put back',
  review_not_offered: 'No longer offered',
  review_removed_more: 'And {more} more: search for a product to put it back.',
  review_search: 'Name or SKU of a product',
  search: 'Search',
  review_nothing_matches: 'Nothing matches “{words}”. Try fewer or other words.',
  review_matches: {
    one: '{count} product matches “{words}”',
    other: '{count} products match “{words}”',
  },
  review_first_matches: 'These are the first {shown}. Search for more words to see others.',
  review_add_one: 'Add',
  review_on_list: 'On the list',
  review_go_on: 'Go on',
  review_unsaved: {
    one: '{count} quantity not saved yet.',
    other: '{count} quantities not saved yet.',
  },

  // The form of a request.
  field_optional: '(optional)',
  field_name: 'Your name',
  field_email: 'E-mail',
  field_email_hint:
    'We send you a link to confirm the request. Staff also send the quotation here.',
  field_company: 'Company',
  field_phone: 'Phone',
  field_country: 'Delivery country',
  field_message: 'Message to staff',
  field_reason: 'Reason',
  send_intro:
    'You ask for a quotation for **{lines}, {total}**. Quantities that you change above are sent as you typed them, once you have seen what they come to. First you confirm the request with a link that we mail to you; then staff answer you with a quotation by mail. Nothing is ordered, reserved or paid.',
  send_hint:
    'Staff see your contact once you have confirmed it. The software and the promoter who prepared this list do not.',
  send_again: 'Send again',
  consent: 'I ask for a quotation for this list, and agree that my contact is used to answer it.',
  decline_list: 'Decline this list',
  decline_list_text:
    'The list is closed, and the promoter who prepared it learns that you declined, with your reason if you give one.',
  decline: 'Decline',
  disown: 'This was not me',
  disown_list_text: {
    one: 'The list is closed. For {count} day this service sends no message of this kind to your address.',
    other:
      'The list is closed. For {count} days this service sends no message of this kind to your address.',
  },
  disown_button: 'I did not ask for this',
  fault_name: 'Enter your name, on one line of at most 200 characters.',
  fault_email: 'Enter an e-mail address, like name@company.example.',
  fault_company: 'The company must be one line of at most 200 characters.',
  fault_country: 'Choose a country, or none.',
  fault_message: 'The message must be plain text of at most 2,000 characters.',
  fault_phone: 'The phone number must be one line of at most 40 characters.',
  fault_consent: 'Tick the box to send the request.',
  fault_reason: 'The reason must be plain text of at most 500 characters.',
  fault_quantity_not_a_quantity:
    '{title}: the quantity must be a whole number in digits, 0 to remove the line from the list.',
  fault_quantity_too_large: '{title}: the quantity must be at most 100,000,000.',
  fault_quantity_withdrawn:
    '{title}: the quantity must be at most {max}, because the product is no longer offered.',
  fault_quantity_on_list:
    '{title}: the quantity can be changed here, because the product is on the list already.',
  fault_list_empty: 'At least one line must stay.',
  fault_list_too_large: 'The total is too large.',
  fault_list_not_published: 'The product is not offered, so it cannot be added.',
  fault_list_too_many: 'A list has at most {most} lines: take one off before you add another.',
  fault_form: 'The form cannot be read: load the page again.',

  // What the page of a list says after a button.
  notice_outrun: 'The list has changed',
  notice_outrun_text:
    'It was changed after you opened this page, so nothing was sent or changed now. Below is the current list: please check it, and then continue.',
  notice_other_total: 'Please look at the total',
  notice_other_total_text:
    'With your quantities and the current prices the total differs from the one that you were shown, so nothing was sent yet. Below is the list as it would be sent: if it is right, press “Ask for a quotation” again.',
  notice_spent: 'No more changes can be saved',
  notice_spent_text:
    'This list has reached its limit of changes, so nothing was sent or changed now. Below is the list with your quantities: send it like this with “Ask for a quotation”, decline it, or ask the person who sent you the link for a new one.',
  notice_too_often: 'Please wait a moment',
  notice_too_often_text:
    'This link was used too often within a minute, so nothing was sent or changed now. Your entries are below: please press the button again in a minute.',
  notice_network_full: 'Too many requests from your network',
  notice_network_full_text:
    'As many requests as possible were sent from your network today, so this one was not sent. Your entries are below: please send it tomorrow, or from another network.',
  notice_saved: 'Your quantities are saved',
  notice_saved_text:
    'Nothing was sent yet. Above is the list as it is now, with its total; what else you typed is below.',
  notice_added: 'The product is on the list',
  notice_added_text:
    'Its quantity and its price are below, with what you typed. Nothing was sent yet.',
  awaited: 'Look into your mailbox',
  awaited_text:
    'Your request waits for you: we mail you a link that confirms it, and it is not with staff before. You can confirm it until {until}.',
  awaited_more:
    'No message within a few minutes? Look for it under spam, or correct the address below and send the list again: the link sent before stops working. A mailbox gets one such message in {minutes} minutes, and {mails} a day.',
  bounds: 'What software cannot do here',
  bounds_text: 'Only you can send this list, and software can do none of this:',
  bound_accept_quotation: 'Agents cannot accept quotations.',
  bound_submit_rfq: 'Agents cannot submit buyer RFQs.',
  bound_place_order: 'Agents cannot place orders.',
  bound_reserve_stock: 'Agents cannot reserve stock.',
  bound_send_payment: 'Agents cannot send payment.',

  // A list that is closed.
  closed_title: '{heading}: {title}',
  closed_reason: 'The reason given:',
  closed_sent: 'Your request was sent',
  closed_won: 'Your request was agreed',
  closed_declined: 'You declined this list',
  closed_declined_text:
    'Nothing was sent, and nothing is ordered. The promoter who prepared the list learns that you declined.',
  closed_erased: 'This list was closed',
  closed_erased_text:
    'Personal data in it was erased, and the list was closed with it. Nothing was sent, and nothing is ordered. Ask the person who sent you the link for a new list.',
  closed_withdrawn: 'This list was withdrawn',
  closed_withdrawn_text:
    'The promoter took it back before you sent it. Nothing was sent, and nothing is ordered.',
  closed_invalidated: 'This list is no longer valid',
  closed_invalidated_text: 'Staff closed it. Nothing was sent, and nothing is ordered.',
  closed_expired: 'This list has expired',
  closed_expired_text:
    'It was open until {until}. Nothing was sent, and nothing is ordered. Ask the person who sent you the link for a new list.',
  closed_late: '**Your last step was not taken.** The list was closed before.',
  closed_late_sent:
    '**Your last step was not taken.** The request was sent before, with the quantities below.',
  closed_late_other: 'If you want other quantities, say so when staff answer you.',
  closed_test_answer: 'It was a test: nobody was asked, and nobody will answer.',
  closed_erased_answer: 'The contact was erased, so no answer can reach you.',
  closed_answer:
    'Staff will answer the contact you gave by mail, with a quotation that only its letter leads to. An order needs your agreement and theirs.',
  closed_receipt:
    '**Nothing is ordered.** You asked for a quotation for the list below, on {at}. No stock is reserved, and no price is accepted.',
  closed_sent_at: 'Sent',
  closed_contact: 'Your contact is not shown here, because others may know this link.',
  closed_next: 'Look for products',

  // The page that confirms a request.
  request_test: 'This is a test request.',
  request_late:
    '**Nothing was changed.** The request is no longer as the page showed it. Below is how it is now.',
  request_waiting: 'Confirm your request',
  request_waiting_text:
    'Somebody entered your e-mail address and asked for a quotation for the list below. If that was you, confirm it: then staff see the request and answer you. No stock is reserved, no price is accepted and nothing is paid.',
  request_until: 'You can confirm it until {until}.',
  request_confirm: 'Confirm the request',
  request_disown_text: {
    one: 'The request ends, and your address is erased from it. For {count} day this service sends no message of this kind to your address.',
    other:
      'The request ends, and your address is erased from it. For {count} days this service sends no message of this kind to your address.',
  },
  request_sent: 'Your request is with staff',
  request_sent_text:
    '**Nothing is ordered.** You asked for a quotation on {at}. Staff answer the contact below by mail, with a quotation: its letter has the link to it. An order needs your agreement and theirs.',
  request_withdraw: 'Withdraw the request',
  request_withdraw_text: 'Staff and the promoter who prepared the list learn that you withdrew it.',
  request_withdraw_button: 'Withdraw',
  request_ended: 'Your request has ended',
  request_over: 'This request is over',
  request_over_text:
    'It was not confirmed in time, or was ended before. Its contact is erased, and staff never received it. If you still want a quotation, open the list again and send it.',
  request_replaced: 'This link was replaced',
  request_replaced_text:
    'The list was sent again, and a newer message has the link that works. If you corrected the address, it went there.',
  request_contact: 'Your contact',
  request_contact_text:
    'Only this page shows the contact: the link of the list does not. A confirmed mailbox shows that somebody reads it, not who that is.',
  request_message: 'Your message',
  contact_name: 'Name',

  // The page of a quotation.
  quotation: 'Quotation',
  quotation_open: 'Quotation {number}',
  quotation_open_text:
    'Staff answer your request with these binding prices until {until}. Nothing is ordered, reserved or paid. Say below whether you want it.',
  quotation_print_text:
    'Staff answer your request with these binding prices until {until}. Nothing is ordered, reserved or paid.',
  quotation_agreed: 'You want quotation {number}',
  quotation_agreed_text:
    'Staff have your word. It is not an order: staff decide next, and confirm it to you. Nothing is paid here.',
  quotation_declined: 'You do not want quotation {number}',
  quotation_declined_text:
    'Staff have your answer, and can send you another quotation. Nothing is ordered, reserved or paid.',
  quotation_declined_valid: 'Until it expires you can still say that you want it.',
  quotation_expired: 'Quotation {number} has expired',
  quotation_expired_text:
    'It was valid until {until}. Nothing is ordered, reserved or paid. If you still want the goods, ask staff below for a new quotation: it comes by mail.',
  quotation_taken_back: 'Quotation {number} is void',
  quotation_taken_back_text:
    'Staff took it back and work on your request again. Nothing is ordered, reserved or paid. A new quotation comes by mail. You can ask staff below.',
  quotation_replaced: 'This quotation was replaced',
  quotation_replaced_text:
    'It is void, and so is an answer to it. A later letter has the quotation that is valid now, with a link of its own. Nothing is ordered, reserved or paid.',
  quotation_won: 'Your request was agreed',
  quotation_goods: 'Below is where the goods are.',
  quotation_faults: 'Nothing was sent yet',
  quotation_unchanged: '**Nothing was changed.** {why}',
  quotation_was_replaced: 'The quotation was replaced meanwhile. Below is how it is now.',
  quotation_is_over: 'The quotation has expired. Ask staff for a new one.',
  quotation_many_questions: 'Many of your questions wait for an answer. Staff answer them first.',
  quotation_has_changed: 'The request is no longer as the page showed it. Below is how it is now.',
  quotation_until: 'Valid until',
  quotation_lines: 'Line by line',
  quotation_caption: 'Prices are per unit. What differs from your list says so.',
  quotation_print: 'Print view, with all lines',
  quotation_terms: 'Terms',
  quotation_instead: 'In place of {title} ({sku}).',
  quotation_was_price: 'On your list {price}',
  quotation_asked: 'You asked for {quantity}',
  quotation_left_out: 'Not offered.',
  quotation_agree_text:
    'You tell staff that you want exactly this, for **{total}**. It is your word and not an order: staff decide next, and confirm it to you. Nothing is paid here.',
  quotation_agree: 'I want this',
  quotation_not: 'Not this',
  quotation_not_any_more: 'Not this any more',
  quotation_decline_text:
    'Staff learn that you do not want this quotation, and your reason if you give one. They can send you another.',
  quotation_decline: 'I do not want this',
  questions: 'Questions',
  question_asked: 'You asked on {at}',
  question_unanswered: 'Staff have not answered yet.',
  question_answered: 'Staff answered',
  question_field: 'Question to staff',
  question_hint:
    'Staff answer by mail, and on this page. Neither the promoter nor software sees it.',
  question_button: 'Ask staff',
  question_sent: 'Your question is with staff. Their answer comes by mail.',
  fault_field_text: 'The question must be plain text of 1 to 2,000 characters.',
  fault_field_reason: 'The reason must be plain text of at most 500 characters.',

  // Goods.
  goods_to_come: '{quantity} to come',
  goods_on_the_way: '{quantity} on the way',
  goods_delivered: '{quantity} delivered',
  goods_sent_back: '{quantity} sent back',
  goods_cancelled: '{quantity} cancelled',
  shipments: 'Shipments',
  shipment: '**Shipment {number}**: shipped on {shipped}.',
  shipment_delivered: '**Shipment {number}**: shipped on {shipped}, delivered on {delivered}.',

  // The end of a request.
  outcome_won:
    '**Agreed for {total}.** Staff recorded the deal with you, and tell you how payment continues.',
  outcome_lost: 'Staff closed it without a deal. Nothing is ordered by it.',
  outcome_withdrawn: 'It was withdrawn. Nothing is ordered by it.',

  // The pages of visitors.
  nav: 'Main',
  nav_list: 'My list',
  categories: 'Categories',
  link_disclosure:
    'Promotional link: the promoter who shared it may be rewarded for what comes of it.',
  promotion: 'Promoted by **{promoter}**, with the software agent {agent}.',
  promotion_test: 'This is a test link.',
  your_list: { one: 'Your list: {count} product', other: 'Your list: {count} products' },
  indicative:
    'Prices are indicative, and stock is a signal. Staff control both; nothing here is an offer.',
  product_count: { one: '{count} product', other: '{count} products' },
  products_for: 'Products for “{words}”',
  heading_page: '{heading}, page {page}',
  nothing_matches: 'Nothing matches. Try fewer or other words, or fewer filters.',
  words_left_out: 'No product matches all words. Left out: {words}.',
  search_products: 'Search products',
  from_price: 'from {price}',
  from_quantity: 'From quantity',
  result_terms: 'at least {least}, in steps of {step} · days to dispatch: {days}',
  on_request: 'On request',
  stock_in_stock: 'In stock',
  stock_low: 'Low stock',
  stock_out_of_stock: 'Out of stock',
  stock_seen: 'as seen on {day}',
  trail: 'Where this is',
  product_faults: 'Please check the quantity; the list is as it was',
  product_least: 'Smallest quantity',
  product_steps: 'In steps of',
  product_stock: 'Stock',
  product_ships_from: 'Ships from',
  product_dispatch: 'Days to dispatch',
  product_made_in: 'Made in',
  product_certified: 'Certified',
  product_prices: 'Prices',
  product_quantity_hint: 'At least {least}, in steps of {step}.',
  product_list_hint: 'Your list is kept in this tab until you review it. You alone send it.',
  add_to_list: 'Add to my list',
  fault_product_quantity: 'Enter a whole number from 1 to 100,000,000.',
  fault_product_list: 'A list has at most {most} products. Review this one first.',
  withdrawn_title: '{title}, no longer offered',
  withdrawn_text: 'This product is no longer offered.',
  withdrawn_category: 'What is still offered in {category}',
  lost: 'Not found',
  lost_product: 'This product is not offered any more, or never was.',
  lost_category: 'There is no such category, or it has no products any more.',
  filters: 'Filter',
  filter_chosen: 'Chosen filters',
  filter_remove: 'Without the filter {filter}',
  filter_category: 'Category',
  filter_brand: 'Brand',
  filter_certifications: 'Certified',
  filter_ship_from: 'Ships from',
  filter_origin: 'Made in',
  filter_lead_time: 'Days to dispatch',
  filter_days: { one: 'at most {count} day', other: 'at most {count} days' },
  sort: 'Order:',
  sort_relevance: 'best match',
  sort_price: 'price',
  sort_moq: 'smallest quantity',
  sort_lead_time: 'dispatch',
  sort_updated: 'newest change',
  list_unstored: 'The list is in the address of this page only. Nothing is stored or sent yet.',
  list_missing: {
    one: '{count} product is no longer offered and left out.',
    other: '{count} products are no longer offered and left out.',
  },
  list_empty: 'The list is empty.',
  list_change: 'Change',
  list_change_one: 'Change {title}',
  list_remove: 'Remove',
  list_remove_one: 'Remove {title}',
  list_review: 'Review',
  list_review_text:
    '“Review” stores the list and opens its page, where you can change it, decline it or send it as a request for quotation. Nothing is ordered.',
  list_most: 'A list has at most {most} products.',

  // Letters to buyers.
  more_lines: { one: '{count} more line', other: '{count} more lines' },
  letter_list: '{title}, from the promoter {promoter}',
  letter_list_more: { one: 'and {count} line more', other: 'and {count} lines more' },
  letter_delivery: 'The product list that you asked for',
  letter_delivery_list:
    'You asked a promoter for a product list, and here it is: {lines}, indicative total {total}.',
  letter_delivery_link: 'See it, change it, and ask staff for a quotation:',
  letter_delivery_until:
    'The link is for you alone, and works until {until}. Nothing is ordered, reserved or paid.',
  letter_delivery_disown:
    'If you did not ask for it, say so on that page: it closes the list, and you get no more such messages.',
  letter_confirmation: 'Confirm your request for a quotation',
  letter_confirmation_list:
    'Somebody entered this address and asked for a quotation: {lines}, indicative total {total}.',
  letter_confirmation_link:
    'If that was you, open this page and confirm the request. Staff receive it then:',
  letter_confirmation_until: 'The link works until {until}. Nothing is ordered, reserved or paid.',
  letter_confirmation_disown:
    'If it was not you, do nothing, or say so on that page: then you get no more such messages.',
  letter_receipt: 'Your request {reference}',
  letter_receipt_title: 'Your request for a quotation',
  letter_receipt_list:
    'Staff have your request for a quotation: {lines}, indicative total {total}. Its reference is {reference}.',
  letter_receipt_next:
    'They answer you at this address, with a quotation that has binding prices. Nothing is ordered, reserved or paid.',
  letter_receipt_link: 'See the request, or withdraw it:',
  letter_quotation: 'Quotation {number} for your request {reference}',
  letter_quotation_title: 'Your quotation',
  letter_quotation_text: 'Staff answer your request for a quotation: {total}, valid until {until}.',
  letter_quotation_voids: 'It replaces quotation {number}, which is void.',
  letter_quotation_voids_agreed:
    'It replaces quotation {number}, which is void, and so is your word for that.',
  letter_quotation_link: 'See it line by line, print it, ask staff, and say whether you want it:',
  letter_quotation_alone:
    'The link is for you alone. Your answer is not an order: staff confirm it. Nothing is paid.',
  letter_void: 'Quotation {number} for your request {reference} is void',
  letter_void_title: 'Your quotation is void',
  letter_void_text:
    'Staff took quotation {number} back and work on your request again. Nothing is ordered. A new quotation comes by mail.',
  letter_void_link: 'Ask staff:',
  letter_answer: 'Answer to your question about {reference}',
  letter_answer_title: 'Staff answer your question',
  letter_answer_link: 'See the question and the quotation:',
  letter_answer_again: 'Ask on that page: this mailbox reads no answers.',
  letter_shipped: 'Shipment {number} for your request {reference}',
  letter_shipped_title: 'Your goods are on their way',
  letter_shipped_text: 'Staff shipped on {day}: {goods}.',
  letter_shipped_parcel: 'The parcel: {parcel}.',
  letter_shipped_link: 'See what is shipped, and what is still to come:',
  letter_cancelled: 'Cancelled goods of your request {reference}',
  letter_cancelled_title: 'Some of your goods are cancelled',
  letter_cancelled_text: 'Staff cancelled: {goods}. What is left comes to {total}.',
  letter_cancelled_reason: 'The reason: {reason}',
  letter_cancelled_link: 'See what is still to come:',
} as const;
