/** The German texts; en.ts says what the signs in them mean. */
export const de = {
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
  pages: 'Seiten',
  previous: 'Zurück',
  next: 'Weiter',
  page_of: 'Seite {page} von {pages}',

  product: 'Produkt',
  quantity: 'Menge',
  unit_price: 'Stückpreis',
  total: 'Summe',
  indicative_total: 'Unverbindliche Summe',
  lines: 'Positionen',
  line_count: { one: '{count} Position', other: '{count} Positionen' },
  reference: 'Referenz',
  lines_caption: 'Die Preise sind unverbindlich und gelten je Stück.',
  lines_caption_form:
    'Die Preise sind unverbindlich und gelten je Stück bei der angegebenen Menge.',
  lines_place:
    'Seite {page} von {pages}: {shown} von {all} Positionen. Die Summen sind die der ganzen Liste.',
  lines_pages: 'Seiten der Liste',
  page_number: 'Seite {page}',
  quantity_of: 'Menge von {title}',
  at_least: 'mindestens {least}',
  in_steps: 'in Schritten von {step}',
  total_now: 'Zu den heutigen Preisen: {total}. Verbindlich ist erst das Angebot.',
  update_quantities: 'Mengen übernehmen',
  use_quantity: '{quantity} nehmen',
  take_off: 'Von der Liste nehmen',
  more_for_less: '{more} mehr: je {price}',
  warning_below_moq: 'Die Menge liegt unter der Mindestmenge',
  warning_off_increment: 'Die Menge ist kein Vielfaches der Bestellschritte',
  warning_stock_below_quantity: 'Der zuletzt gemeldete Bestand liegt unter der Menge auf der Liste',
  warning_free: 'Der Preis ist 0, was ein Fehler im Katalog sein kann',
  warning_withdrawn: 'Das Produkt wird nicht mehr angeboten',
  remark_price_changed:
    'Der Preis ist jetzt {now}; er war {was}, als diese Position berechnet wurde. Das sind {sum_now} statt {sum_was}.',
  remark_price_when_sent: 'Der Preis war {price}, als Sie dies abgeschickt haben.',
  remark_withdrawn: 'Nicht mehr angeboten. Mit der Menge 0 nehmen Sie es von der Liste.',
  remark_withdrawn_because:
    'Nicht mehr angeboten: „{reason}“. Mit der Menge 0 nehmen Sie es von der Liste.',

  steps: 'Wo Ihre Anfrage steht',
  step_list: 'Liste',
  step_sent: 'Abgeschickt',
  step_confirmed: 'Bestätigt',
  step_taken_up: 'In Arbeit',
  step_quoted: 'Angebot',
  step_agreed: 'Vereinbart',
  step_shipped: 'Versandt',
  step_lost: 'Ohne Abschluss beendet',
  step_withdrawn: 'Zurückgezogen',

  review_check: 'Bitte prüfen: {title}',
  review_faults: 'Bitte prüfen Sie Ihre Eingaben; nichts wurde gesendet oder geändert',
  review_own_title: 'Ihre Liste',
  review_own: 'Sie haben diese Liste angelegt.',
  review_own_credited:
    'Sie haben diese Liste angelegt, nachdem Sie einem Link des Partners **{promoter}** gefolgt sind, der dafür vergütet werden kann.',
  review_for: 'Eine Liste zur Ansicht für {company}',
  review_for_you: 'Eine Liste zur Ansicht für Sie',
  review_prepared:
    'Zusammengestellt von **{agent}**, einem Software-Agenten im Auftrag des Partners **{promoter}**, der dafür vergütet werden kann.',
  review_was_prepared:
    'Die Liste wurde von {agent} zusammengestellt, einem Software-Agenten im Auftrag von {promoter}, der dafür vergütet werden kann.',
  review_look_at: 'Zu prüfen',
  review_nothing: 'Nichts',
  review_open_until: 'Offen bis',
  review_note: 'Eine Nachricht an Sie',
  review_promise:
    '**Nichts ist bestellt, bevor das Verkaufsteam und Sie sich einig sind.** Abschicken heißt nur, ein Angebot anzufragen: Kein Bestand wird reserviert, kein Preis angenommen und nichts bezahlt.',
  review_test: 'Dies ist eine Testliste. Niemand erhält sie, wenn Sie sie abschicken.',
  review_was_test: 'Dies war eine Testliste.',
  review_list: 'Die Liste',
  review_change:
    'Ändern Sie, was Sie möchten; „Mengen übernehmen“ zeigt, was es kostet. Mit 0 nehmen Sie ein Produkt von der Liste.',
  review_version: 'Dies ist Fassung {version} der Liste, mit den Änderungen von hier.',
  review_add: 'Produkt hinzufügen',
  review_no: 'Nichts für Sie?',
  ask_for_quotation: 'Angebot anfragen',
  review_removed: 'Von der Liste genommen',
  review_removed_quantity: 'Menge {quantity}',
  review_put_back: 'Zurücklegen',
  review_not_offered: 'Nicht mehr angeboten',
  review_removed_more: 'Und {more} weitere: Suchen Sie ein Produkt, um es zurückzulegen.',
  review_search: 'Name oder Artikelnummer eines Produkts',
  search: 'Suchen',
  review_nothing_matches: 'Nichts passt zu „{words}“. Versuchen Sie weniger oder andere Wörter.',
  review_matches: {
    one: '{count} Produkt passt zu „{words}“',
    other: '{count} Produkte passen zu „{words}“',
  },
  review_first_matches:
    'Dies sind die ersten {shown}. Suchen Sie mit mehr Wörtern, um andere zu sehen.',
  review_add_one: 'Hinzufügen',
  review_on_list: 'Auf der Liste',
  review_go_on: 'Weiter',
  review_unsaved: {
    one: '{count} Menge noch nicht übernommen.',
    other: '{count} Mengen noch nicht übernommen.',
  },

  field_optional: '(freiwillig)',
  field_name: 'Ihr Name',
  field_email: 'E-Mail',
  field_email_hint:
    'Wir schicken Ihnen einen Link, mit dem Sie die Anfrage bestätigen. Auch das Angebot kommt hierher.',
  field_company: 'Firma',
  field_phone: 'Telefon',
  field_country: 'Lieferland',
  field_message: 'Nachricht an das Verkaufsteam',
  field_reason: 'Grund',
  send_intro:
    'Sie fragen ein Angebot für **{lines}, {total}** an. Mengen, die Sie oben ändern, werden so gesendet, wie Sie sie eingegeben haben, sobald Sie gesehen haben, was sie kosten. Zuerst bestätigen Sie die Anfrage mit einem Link, den wir Ihnen mailen; dann antwortet das Verkaufsteam per Mail mit einem Angebot. Nichts ist bestellt, reserviert oder bezahlt.',
  send_hint:
    'Das Verkaufsteam sieht Ihre Kontaktdaten, sobald Sie sie bestätigt haben. Die Software und der Partner, der diese Liste zusammengestellt hat, sehen sie nicht.',
  send_again: 'Noch einmal senden',
  consent:
    'Ich frage ein Angebot für diese Liste an und bin einverstanden, dass meine Kontaktdaten für die Antwort verwendet werden.',
  decline_list: 'Diese Liste ablehnen',
  decline_list_text:
    'Die Liste wird geschlossen, und der Partner, der sie zusammengestellt hat, erfährt, dass Sie abgelehnt haben, mit Ihrem Grund, wenn Sie einen nennen.',
  decline: 'Ablehnen',
  disown: 'Das war ich nicht',
  disown_list_text: {
    one: 'Die Liste wird geschlossen. {count} Tag lang sendet dieser Dienst keine solche Nachricht an Ihre Adresse.',
    other:
      'Die Liste wird geschlossen. {count} Tage lang sendet dieser Dienst keine solche Nachricht an Ihre Adresse.',
  },
  disown_button: 'Ich habe das nicht angefragt',
  fault_name: 'Geben Sie Ihren Namen an, auf einer Zeile mit höchstens 200 Zeichen.',
  fault_email: 'Geben Sie eine E-Mail-Adresse an, wie name@firma.example.',
  fault_company: 'Die Firma muss auf einer Zeile mit höchstens 200 Zeichen stehen.',
  fault_country: 'Wählen Sie ein Land oder keines.',
  fault_message: 'Die Nachricht muss reiner Text mit höchstens 2.000 Zeichen sein.',
  fault_phone: 'Die Telefonnummer muss auf einer Zeile mit höchstens 40 Zeichen stehen.',
  fault_consent: 'Setzen Sie das Häkchen, um die Anfrage abzuschicken.',
  fault_reason: 'Der Grund muss reiner Text mit höchstens 500 Zeichen sein.',
  fault_quantity_not_a_quantity:
    '{title}: Die Menge muss eine ganze Zahl in Ziffern sein; 0 nimmt die Position von der Liste.',
  fault_quantity_too_large: '{title}: Die Menge darf höchstens 100.000.000 sein.',
  fault_quantity_withdrawn:
    '{title}: Die Menge darf höchstens {max} sein, weil das Produkt nicht mehr angeboten wird.',
  fault_quantity_on_list:
    '{title}: Die Menge können Sie hier ändern, weil das Produkt schon auf der Liste steht.',
  fault_list_empty: 'Mindestens eine Position muss bleiben.',
  fault_list_too_large: 'Die Summe ist zu groß.',
  fault_list_not_published: 'Das Produkt wird nicht angeboten und kann nicht hinzugefügt werden.',
  fault_list_too_many:
    'Eine Liste hat höchstens {most} Positionen: Nehmen Sie eine weg, bevor Sie eine andere hinzufügen.',
  fault_form: 'Das Formular ist nicht lesbar: Laden Sie die Seite neu.',

  notice_outrun: 'Die Liste hat sich geändert',
  notice_outrun_text:
    'Sie wurde geändert, nachdem Sie diese Seite geöffnet haben; deshalb wurde jetzt nichts gesendet oder geändert. Unten steht die aktuelle Liste: Bitte prüfen Sie sie und machen Sie dann weiter.',
  notice_other_total: 'Bitte sehen Sie sich die Summe an',
  notice_other_total_text:
    'Mit Ihren Mengen und den aktuellen Preisen weicht die Summe von der ab, die Sie gesehen haben; deshalb wurde noch nichts gesendet. Unten steht die Liste, wie sie gesendet würde: Wenn sie stimmt, wählen Sie noch einmal „Angebot anfragen“.',
  notice_spent: 'Weitere Änderungen können nicht gespeichert werden',
  notice_spent_text:
    'Diese Liste wurde so oft geändert, wie es geht; deshalb wurde jetzt nichts gesendet oder geändert. Unten steht die Liste mit Ihren Mengen: Schicken Sie sie so mit „Angebot anfragen“ ab, lehnen Sie sie ab, oder bitten Sie die Person, von der Sie den Link haben, um eine neue.',
  notice_too_often: 'Bitte warten Sie einen Moment',
  notice_too_often_text:
    'Dieser Link wurde in einer Minute zu oft benutzt; deshalb wurde jetzt nichts gesendet oder geändert. Ihre Eingaben stehen unten: Bitte versuchen Sie es in einer Minute noch einmal.',
  notice_network_full: 'Zu viele Anfragen aus Ihrem Netz',
  notice_network_full_text:
    'Aus Ihrem Netz kamen heute so viele Anfragen, wie möglich sind; deshalb wurde diese nicht gesendet. Ihre Eingaben stehen unten: Bitte senden Sie sie morgen oder aus einem anderen Netz.',
  notice_saved: 'Ihre Mengen sind gespeichert',
  notice_saved_text:
    'Noch wurde nichts gesendet. Oben steht die Liste, wie sie jetzt ist, mit ihrer Summe; was Sie sonst eingegeben haben, steht unten.',
  notice_added: 'Das Produkt ist auf der Liste',
  notice_added_text:
    'Menge und Preis stehen unten, mit Ihren Eingaben. Noch wurde nichts gesendet.',
  awaited: 'Sehen Sie in Ihr Postfach',
  awaited_text:
    'Ihre Anfrage wartet auf Sie: Wir mailen Ihnen einen Link, der sie bestätigt; vorher erhält das Verkaufsteam sie nicht. Sie können sie bis {until} bestätigen.',
  awaited_more:
    'Keine Nachricht nach einigen Minuten? Sehen Sie im Spam nach, oder berichtigen Sie unten die Adresse und senden Sie die Liste noch einmal: Der vorige Link gilt dann nicht mehr. Ein Postfach erhält eine solche Nachricht in {minutes} Minuten und {mails} am Tag.',
  bounds: 'Was Software hier nicht kann',
  bounds_text: 'Nur Sie können diese Liste abschicken, und Software kann nichts davon:',
  bound_accept_quotation: 'Agenten können keine Angebote annehmen.',
  bound_submit_rfq: 'Agenten können keine Anfragen von Käufern abschicken.',
  bound_place_order: 'Agenten können nichts bestellen.',
  bound_reserve_stock: 'Agenten können keinen Bestand reservieren.',
  bound_send_payment: 'Agenten können nichts bezahlen.',

  closed_title: '{heading}: {title}',
  closed_reason: 'Der genannte Grund:',
  closed_sent: 'Ihre Anfrage wurde abgeschickt',
  closed_won: 'Ihre Anfrage wurde vereinbart',
  closed_declined: 'Sie haben diese Liste abgelehnt',
  closed_declined_text:
    'Nichts wurde gesendet, und nichts ist bestellt. Der Partner, der die Liste zusammengestellt hat, erfährt, dass Sie abgelehnt haben.',
  closed_erased: 'Diese Liste wurde geschlossen',
  closed_erased_text:
    'Personenbezogene Daten darin wurden gelöscht, und damit wurde die Liste geschlossen. Nichts wurde gesendet, und nichts ist bestellt. Bitten Sie die Person, von der Sie den Link haben, um eine neue Liste.',
  closed_withdrawn: 'Diese Liste wurde zurückgezogen',
  closed_withdrawn_text:
    'Der Partner hat sie zurückgezogen, bevor Sie sie abgeschickt haben. Nichts wurde gesendet, und nichts ist bestellt.',
  closed_invalidated: 'Diese Liste gilt nicht mehr',
  closed_invalidated_text:
    'Das Verkaufsteam hat sie geschlossen. Nichts wurde gesendet, und nichts ist bestellt.',
  closed_expired: 'Diese Liste ist abgelaufen',
  closed_expired_text:
    'Sie war bis {until} offen. Nichts wurde gesendet, und nichts ist bestellt. Bitten Sie die Person, von der Sie den Link haben, um eine neue Liste.',
  closed_late: '**Ihr letzter Schritt wurde nicht ausgeführt.** Die Liste war schon geschlossen.',
  closed_late_sent:
    '**Ihr letzter Schritt wurde nicht ausgeführt.** Die Anfrage war schon abgeschickt, mit den Mengen unten.',
  closed_late_other:
    'Wenn Sie andere Mengen möchten, sagen Sie es, wenn das Verkaufsteam Ihnen antwortet.',
  closed_test_answer: 'Es war ein Test: Niemand wurde gefragt, und niemand wird antworten.',
  closed_erased_answer:
    'Die Kontaktdaten wurden gelöscht; deshalb kann Sie keine Antwort erreichen.',
  closed_answer:
    'Das Verkaufsteam antwortet den angegebenen Kontaktdaten per Mail, mit einem Angebot, zu dem nur diese Mail führt. Eine Bestellung braucht Ihre und seine Zustimmung.',
  closed_receipt:
    '**Nichts ist bestellt.** Sie haben am {at} ein Angebot für die Liste unten angefragt. Kein Bestand ist reserviert und kein Preis angenommen.',
  closed_sent_at: 'Abgeschickt',
  closed_contact: 'Ihre Kontaktdaten stehen hier nicht, weil andere diesen Link kennen können.',
  closed_next: 'Produkte ansehen',

  request_test: 'Dies ist eine Testanfrage.',
  request_late:
    '**Nichts wurde geändert.** Die Anfrage ist nicht mehr so, wie die Seite sie gezeigt hat. Unten steht sie, wie sie jetzt ist.',
  request_waiting: 'Bestätigen Sie Ihre Anfrage',
  request_waiting_text:
    'Jemand hat Ihre E-Mail-Adresse eingegeben und ein Angebot für die Liste unten angefragt. Wenn Sie das waren, bestätigen Sie es: Dann sieht das Verkaufsteam die Anfrage und antwortet Ihnen. Kein Bestand wird reserviert, kein Preis angenommen und nichts bezahlt.',
  request_until: 'Sie können sie bis {until} bestätigen.',
  request_confirm: 'Anfrage bestätigen',
  request_disown_text: {
    one: 'Die Anfrage endet, und Ihre Adresse wird daraus gelöscht. {count} Tag lang sendet dieser Dienst keine solche Nachricht an Ihre Adresse.',
    other:
      'Die Anfrage endet, und Ihre Adresse wird daraus gelöscht. {count} Tage lang sendet dieser Dienst keine solche Nachricht an Ihre Adresse.',
  },
  request_sent: 'Ihre Anfrage ist beim Verkaufsteam',
  request_sent_text:
    '**Nichts ist bestellt.** Sie haben am {at} ein Angebot angefragt. Das Verkaufsteam antwortet den Kontaktdaten unten per Mail, mit einem Angebot: Die Mail hat den Link dazu. Eine Bestellung braucht Ihre und seine Zustimmung.',
  request_withdraw: 'Anfrage zurückziehen',
  request_withdraw_text:
    'Das Verkaufsteam und der Partner, der die Liste zusammengestellt hat, erfahren, dass Sie sie zurückgezogen haben.',
  request_withdraw_button: 'Zurückziehen',
  request_ended: 'Ihre Anfrage ist beendet',
  request_over: 'Diese Anfrage ist vorbei',
  request_over_text:
    'Sie wurde nicht rechtzeitig bestätigt oder vorher beendet. Ihre Kontaktdaten sind gelöscht, und das Verkaufsteam hat sie nie erhalten. Wenn Sie noch ein Angebot möchten, öffnen Sie die Liste wieder und schicken Sie sie ab.',
  request_replaced: 'Dieser Link wurde ersetzt',
  request_replaced_text:
    'Die Liste wurde noch einmal abgeschickt, und eine neuere Nachricht hat den Link, der gilt. Wenn Sie die Adresse berichtigt haben, ging sie dorthin.',
  request_contact: 'Ihre Kontaktdaten',
  request_contact_text:
    'Nur diese Seite zeigt die Kontaktdaten, der Link der Liste nicht. Ein bestätigtes Postfach zeigt, dass jemand es liest, aber nicht, wer das ist.',
  request_message: 'Ihre Nachricht',
  contact_name: 'Name',

  quotation: 'Angebot',
  quotation_open: 'Angebot {number}',
  quotation_open_text:
    'Das Verkaufsteam antwortet auf Ihre Anfrage mit diesen verbindlichen Preisen bis {until}. Nichts ist bestellt, reserviert oder bezahlt. Sagen Sie unten, ob Sie es möchten.',
  quotation_print_text:
    'Das Verkaufsteam antwortet auf Ihre Anfrage mit diesen verbindlichen Preisen bis {until}. Nichts ist bestellt, reserviert oder bezahlt.',
  quotation_agreed: 'Sie möchten Angebot {number}',
  quotation_agreed_text:
    'Das Verkaufsteam hat Ihr Wort. Es ist keine Bestellung: Das Verkaufsteam entscheidet als Nächstes und bestätigt es Ihnen. Bezahlt wird hier nichts.',
  quotation_declined: 'Sie möchten Angebot {number} nicht',
  quotation_declined_text:
    'Das Verkaufsteam hat Ihre Antwort und kann Ihnen ein anderes Angebot schicken. Nichts ist bestellt, reserviert oder bezahlt.',
  quotation_declined_valid: 'Bis es abläuft, können Sie noch sagen, dass Sie es möchten.',
  quotation_expired: 'Angebot {number} ist abgelaufen',
  quotation_expired_text:
    'Es galt bis {until}. Nichts ist bestellt, reserviert oder bezahlt. Wenn Sie die Waren noch möchten, fragen Sie das Verkaufsteam unten nach einem neuen Angebot: Es kommt per Mail.',
  quotation_taken_back: 'Angebot {number} gilt nicht mehr',
  quotation_taken_back_text:
    'Das Verkaufsteam hat es zurückgenommen und arbeitet wieder an Ihrer Anfrage. Nichts ist bestellt, reserviert oder bezahlt. Ein neues Angebot kommt per Mail. Unten können Sie Fragen stellen.',
  quotation_replaced: 'Dieses Angebot wurde ersetzt',
  quotation_replaced_text:
    'Es gilt nicht mehr, und auch eine Antwort darauf nicht. Eine spätere Mail hat das Angebot, das jetzt gilt, mit einem eigenen Link. Nichts ist bestellt, reserviert oder bezahlt.',
  quotation_won: 'Ihre Anfrage wurde vereinbart',
  quotation_goods: 'Unten steht, wo die Waren sind.',
  quotation_faults: 'Noch wurde nichts gesendet',
  quotation_unchanged: '**Nichts wurde geändert.** {why}',
  quotation_was_replaced: 'Das Angebot wurde inzwischen ersetzt. Unten steht, wie es jetzt ist.',
  quotation_is_over: 'Das Angebot ist abgelaufen. Fragen Sie das Verkaufsteam nach einem neuen.',
  quotation_many_questions:
    'Viele Ihrer Fragen warten auf eine Antwort. Das Verkaufsteam beantwortet zuerst diese.',
  quotation_has_changed:
    'Die Anfrage ist nicht mehr so, wie die Seite sie gezeigt hat. Unten steht sie, wie sie jetzt ist.',
  quotation_until: 'Gültig bis',
  quotation_lines: 'Die Positionen',
  quotation_caption: 'Die Preise gelten je Stück. Was von Ihrer Liste abweicht, ist vermerkt.',
  quotation_print: 'Druckansicht mit allen Positionen',
  quotation_terms: 'Bedingungen',
  quotation_instead: 'Anstelle von {title} ({sku}).',
  quotation_was_price: 'Auf Ihrer Liste {price}',
  quotation_asked: 'Angefragt: {quantity}',
  quotation_left_out: 'Nicht angeboten.',
  quotation_agree_text:
    'Sie sagen dem Verkaufsteam, dass Sie genau dies möchten, für **{total}**. Das ist Ihr Wort und keine Bestellung: Das Verkaufsteam entscheidet als Nächstes und bestätigt es Ihnen. Bezahlt wird hier nichts.',
  quotation_agree: 'Das möchte ich',
  quotation_not: 'Das nicht',
  quotation_not_any_more: 'Das nicht mehr',
  quotation_decline_text:
    'Das Verkaufsteam erfährt, dass Sie dieses Angebot nicht möchten, und Ihren Grund, wenn Sie einen nennen. Es kann Ihnen ein anderes schicken.',
  quotation_decline: 'Das möchte ich nicht',
  questions: 'Fragen',
  question_asked: 'Sie haben am {at} gefragt',
  question_unanswered: 'Das Verkaufsteam hat noch nicht geantwortet.',
  question_answered: 'Das Verkaufsteam hat geantwortet',
  question_field: 'Frage an das Verkaufsteam',
  question_hint:
    'Das Verkaufsteam antwortet per Mail und auf dieser Seite. Weder der Partner noch Software sieht die Frage.',
  question_button: 'Frage stellen',
  question_sent: 'Ihre Frage ist beim Verkaufsteam. Die Antwort kommt per Mail.',
  fault_field_text: 'Die Frage muss reiner Text mit 1 bis 2.000 Zeichen sein.',
  fault_field_reason: 'Der Grund muss reiner Text mit höchstens 500 Zeichen sein.',

  goods_to_come: '{quantity} folgen noch',
  goods_on_the_way: '{quantity} unterwegs',
  goods_delivered: '{quantity} geliefert',
  goods_sent_back: '{quantity} zurückgesandt',
  goods_cancelled: '{quantity} storniert',
  shipments: 'Lieferungen',
  shipment: '**Lieferung {number}**: versandt am {shipped}.',
  shipment_delivered: '**Lieferung {number}**: versandt am {shipped}, geliefert am {delivered}.',

  outcome_won:
    '**Vereinbart für {total}.** Das Verkaufsteam hat den Abschluss mit Ihnen festgehalten und sagt Ihnen, wie es mit der Zahlung weitergeht.',
  outcome_lost: 'Das Verkaufsteam hat sie ohne Abschluss beendet. Damit ist nichts bestellt.',
  outcome_withdrawn: 'Sie wurde zurückgezogen. Damit ist nichts bestellt.',

  nav: 'Hauptmenü',
  nav_list: 'Meine Liste',
  categories: 'Kategorien',
  link_disclosure: 'Werbelink: Der Partner, der ihn geteilt hat, kann dafür vergütet werden.',
  promotion: 'Empfohlen von **{promoter}**, mit dem Software-Agenten {agent}.',
  promotion_test: 'Dies ist ein Testlink.',
  your_list: { one: 'Ihre Liste: {count} Produkt', other: 'Ihre Liste: {count} Produkte' },
  indicative:
    'Preise sind unverbindlich, und der Bestand ist ein Hinweis. Über beides bestimmt das Verkaufsteam; nichts hier ist ein Angebot.',
  product_count: { one: '{count} Produkt', other: '{count} Produkte' },
  products_for: 'Produkte zu „{words}“',
  heading_page: '{heading}, Seite {page}',
  nothing_matches: 'Nichts passt. Versuchen Sie weniger oder andere Wörter, oder weniger Filter.',
  words_left_out: 'Kein Produkt passt zu allen Wörtern. Weggelassen: {words}.',
  search_products: 'Produkte suchen',
  from_price: 'ab {price}',
  from_quantity: 'Ab Menge',
  result_terms: 'mindestens {least}, in Schritten von {step} · Tage bis zum Versand: {days}',
  on_request: 'Auf Anfrage',
  stock_in_stock: 'Auf Lager',
  stock_low: 'Geringer Bestand',
  stock_out_of_stock: 'Nicht auf Lager',
  stock_seen: 'Stand {day}',
  trail: 'Wo Sie sind',
  product_faults: 'Bitte prüfen Sie die Menge; die Liste ist unverändert',
  product_least: 'Mindestmenge',
  product_steps: 'In Schritten von',
  product_stock: 'Bestand',
  product_ships_from: 'Versand aus',
  product_dispatch: 'Tage bis zum Versand',
  product_made_in: 'Hergestellt in',
  product_certified: 'Zertifiziert',
  product_prices: 'Preise',
  product_quantity_hint: 'Mindestens {least}, in Schritten von {step}.',
  product_list_hint:
    'Ihre Liste bleibt in diesem Tab, bis Sie sie prüfen. Nur Sie schicken sie ab.',
  add_to_list: 'Auf meine Liste',
  fault_product_quantity: 'Geben Sie eine ganze Zahl von 1 bis 100.000.000 ein.',
  fault_product_list: 'Eine Liste hat höchstens {most} Produkte. Prüfen Sie zuerst diese.',
  withdrawn_title: '{title}, nicht mehr angeboten',
  withdrawn_text: 'Dieses Produkt wird nicht mehr angeboten.',
  withdrawn_category: 'Was in {category} noch angeboten wird',
  lost: 'Nicht gefunden',
  lost_product: 'Dieses Produkt wird nicht mehr angeboten, oder es gab es nie.',
  lost_category: 'Diese Kategorie gibt es nicht, oder sie hat keine Produkte mehr.',
  filters: 'Filtern',
  filter_chosen: 'Gewählte Filter',
  filter_remove: 'Ohne den Filter {filter}',
  filter_category: 'Kategorie',
  filter_brand: 'Marke',
  filter_certifications: 'Zertifiziert',
  filter_ship_from: 'Versand aus',
  filter_origin: 'Hergestellt in',
  filter_lead_time: 'Tage bis zum Versand',
  filter_days: { one: 'höchstens {count} Tag', other: 'höchstens {count} Tage' },
  sort: 'Reihenfolge:',
  sort_relevance: 'beste Treffer',
  sort_price: 'Preis',
  sort_moq: 'Mindestmenge',
  sort_lead_time: 'Versand',
  sort_updated: 'neueste Änderung',
  list_unstored:
    'Die Liste steht nur in der Adresse dieser Seite. Noch ist nichts gespeichert oder gesendet.',
  list_missing: {
    one: '{count} Produkt wird nicht mehr angeboten und fehlt hier.',
    other: '{count} Produkte werden nicht mehr angeboten und fehlen hier.',
  },
  list_empty: 'Die Liste ist leer.',
  list_change: 'Ändern',
  list_change_one: '{title} ändern',
  list_remove: 'Entfernen',
  list_remove_one: '{title} entfernen',
  list_review: 'Prüfen',
  list_review_text:
    '„Prüfen“ speichert die Liste und öffnet ihre Seite; dort können Sie sie ändern, ablehnen oder als Anfrage abschicken. Nichts wird bestellt.',
  list_most: 'Eine Liste hat höchstens {most} Produkte.',

  more_lines: { one: '{count} weitere Position', other: '{count} weitere Positionen' },
  letter_list: '{title}, vom Partner {promoter}',
  letter_list_more: {
    one: 'und {count} weitere Position',
    other: 'und {count} weitere Positionen',
  },
  letter_delivery: 'Die Produktliste, um die Sie gebeten haben',
  letter_delivery_list:
    'Sie haben einen Partner um eine Produktliste gebeten, und hier ist sie: {lines}, unverbindliche Summe {total}.',
  letter_delivery_link: 'Sehen Sie sie an, ändern Sie sie und fragen Sie ein Angebot an:',
  letter_delivery_until:
    'Der Link ist nur für Sie und gilt bis {until}. Nichts ist bestellt, reserviert oder bezahlt.',
  letter_delivery_disown:
    'Wenn Sie nicht darum gebeten haben, sagen Sie es auf dieser Seite: Dann wird die Liste geschlossen, und Sie erhalten keine solchen Nachrichten mehr.',
  letter_confirmation: 'Bestätigen Sie Ihre Anfrage',
  letter_confirmation_list:
    'Jemand hat diese Adresse eingegeben und ein Angebot angefragt: {lines}, unverbindliche Summe {total}.',
  letter_confirmation_link:
    'Wenn Sie das waren, öffnen Sie diese Seite und bestätigen Sie die Anfrage. Dann erhält sie das Verkaufsteam:',
  letter_confirmation_until:
    'Der Link gilt bis {until}. Nichts ist bestellt, reserviert oder bezahlt.',
  letter_confirmation_disown:
    'Wenn Sie es nicht waren, tun Sie nichts, oder sagen Sie es auf dieser Seite: Dann erhalten Sie keine solchen Nachrichten mehr.',
  letter_receipt: 'Ihre Anfrage {reference}',
  letter_receipt_title: 'Ihre Anfrage nach einem Angebot',
  letter_receipt_list:
    'Das Verkaufsteam hat Ihre Anfrage nach einem Angebot: {lines}, unverbindliche Summe {total}. Ihre Referenz ist {reference}.',
  letter_receipt_next:
    'Es antwortet Ihnen an diese Adresse, mit einem Angebot mit verbindlichen Preisen. Nichts ist bestellt, reserviert oder bezahlt.',
  letter_receipt_link: 'Sehen Sie die Anfrage an, oder ziehen Sie sie zurück:',
  letter_quotation: 'Angebot {number} zu Ihrer Anfrage {reference}',
  letter_quotation_title: 'Ihr Angebot',
  letter_quotation_text:
    'Das Verkaufsteam antwortet auf Ihre Anfrage: {total}, gültig bis {until}.',
  letter_quotation_voids: 'Es ersetzt Angebot {number}, das nicht mehr gilt.',
  letter_quotation_voids_agreed:
    'Es ersetzt Angebot {number}, das nicht mehr gilt, und damit auch Ihre Zusage dazu.',
  letter_quotation_link:
    'Sehen Sie es Position für Position an, drucken Sie es, stellen Sie Fragen, und sagen Sie, ob Sie es möchten:',
  letter_quotation_alone:
    'Der Link ist nur für Sie. Ihre Antwort ist keine Bestellung: Das Verkaufsteam bestätigt sie. Bezahlt wird nichts.',
  letter_void: 'Angebot {number} zu Ihrer Anfrage {reference} gilt nicht mehr',
  letter_void_title: 'Ihr Angebot gilt nicht mehr',
  letter_void_text:
    'Das Verkaufsteam hat Angebot {number} zurückgenommen und arbeitet wieder an Ihrer Anfrage. Nichts ist bestellt. Ein neues Angebot kommt per Mail.',
  letter_void_link: 'Stellen Sie eine Frage:',
  letter_answer: 'Antwort auf Ihre Frage zu {reference}',
  letter_answer_title: 'Das Verkaufsteam beantwortet Ihre Frage',
  letter_answer_link: 'Sehen Sie die Frage und das Angebot an:',
  letter_answer_again: 'Fragen Sie auf dieser Seite: Dieses Postfach liest keine Antworten.',
  letter_shipped: 'Lieferung {number} zu Ihrer Anfrage {reference}',
  letter_shipped_title: 'Ihre Waren sind unterwegs',
  letter_shipped_text: 'Das Verkaufsteam hat am {day} versandt: {goods}.',
  letter_shipped_parcel: 'Das Paket: {parcel}.',
  letter_shipped_link: 'Sehen Sie, was versandt ist und was noch kommt:',
  letter_cancelled: 'Stornierte Waren Ihrer Anfrage {reference}',
  letter_cancelled_title: 'Ein Teil Ihrer Waren ist storniert',
  letter_cancelled_text: 'Das Verkaufsteam hat storniert: {goods}. Es bleiben {total}.',
  letter_cancelled_reason: 'Der Grund: {reason}',
  letter_cancelled_link: 'Sehen Sie, was noch kommt:',
} as const;
