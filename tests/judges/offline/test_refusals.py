"""Answers that decline and answers that do not, in all languages that the judge reads."""

from __future__ import annotations

import time

import pytest

from pytest_rageval.judges.offline.abstention import read_abstention
from pytest_rageval.judges.offline.refusals import every_reading, readings, refuses

REFUSALS = """
Data not available.
That is beyond what I can help with.
I can only answer questions about the city library.
It is unclear from the text who signed the contract.
I have no record of an invoice with that number.
Ich kann nur Fragen zur Stadtbibliothek beantworten.
Keine Ergebnisse gefunden.
Aucun résultat trouvé.
No se han encontrado resultados.
Solo puedo responder preguntas sobre la biblioteca.
Geen resultaten gevonden.
不清楚。
我只能回答有关图书馆的问题。
Das weiß ich leider nicht.
Ich weiß es nicht.
Dazu habe ich leider keine Informationen.
In den bereitgestellten Dokumenten gibt es keine Angaben zur Höhe der Gebühr.
Der Kontext enthält keine Informationen über die Öffnungszeiten.
Diese Frage kann ich anhand der vorliegenden Unterlagen nicht beantworten.
Die Antwort lässt sich den Dokumenten nicht entnehmen.
Leider konnte ich dazu nichts finden. Es liegen mir keine Angaben vor.
Wir haben dazu keine Auskunft.
Das steht nicht in den Unterlagen.
Je ne sais pas.
Je n'ai pas trouvé d'informations à ce sujet.
Le contexte ne contient pas d'informations sur les tarifs.
Désolé, je ne peux pas répondre à cette question.
Aucune information n'est disponible dans les documents fournis.
Les documents fournis ne mentionnent pas la date de livraison.
Je ne dispose d'aucune information sur ce point.
Ce point n'est pas précisé dans le contexte.
Lo siento, no lo sé.
No tengo información sobre ese tema.
No encontré información en los documentos.
El contexto no menciona el precio.
No puedo responder a esa pregunta con la información disponible.
No se especifica en el documento.
Los documentos proporcionados no contienen esa información.
Mi dispiace, non lo so.
Non ho informazioni su questo argomento.
Il contesto non fornisce dettagli sui prezzi.
Non posso rispondere a questa domanda.
I documenti non menzionano la data di consegna.
Non è specificato nel testo.
Não sei.
Não tenho informações sobre esse assunto.
O contexto não menciona o preço.
Não consigo responder a essa pergunta.
Não encontrei essa informação nos documentos.
Os documentos não contêm essa informação.
Dat weet ik helaas niet.
Ik heb geen informatie over dit onderwerp.
De context bevat geen informatie over de prijs.
Ik kan deze vraag niet beantwoorden.
Er is geen informatie beschikbaar.
Nie wiem.
Nie mam informacji na ten temat.
Kontekst nie zawiera informacji o cenie.
Nie mogę odpowiedzieć na to pytanie.
Brak informacji w dokumentach.
申し訳ありませんが、わかりません。
その情報は文書に含まれていません。
提供された文書には記載がありません。
お答えできません。
我不知道。
提供的文档中没有提到价格。
抱歉,我无法回答这个问题。
文件中沒有相關資訊。
根据提供的信息,无法确定。
모르겠습니다.
제공된 문서에는 해당 정보가 없습니다.
답변할 수 없습니다.
Es tut mir leid, aber in den mir zur Verfügung stehenden Informationen finde ich keine Antwort.
Basierend auf dem gegebenen Kontext ist es nicht möglich, diese Frage zu beantworten.
Der bereitgestellte Text geht nicht auf die Frage ein, wer das Unternehmen gegründet hat.
Hierzu liegen mir leider keine Informationen vor.
In der Wissensdatenbank steht dazu nichts.
Ich kann Ihnen darauf keine Antwort geben.
Das kann ich nicht beantworten.
Zu diesem Thema enthalten die Dokumente keine Aussage.
D'après le contexte fourni, il n'est pas possible de répondre à cette question.
Je suis désolé, mais je n'ai pas d'informations sur ce sujet.
La réponse ne figure pas dans les documents.
Les extraits ne permettent pas de déterminer le montant.
Nous n'avons trouvé aucune réponse dans la base de connaissances.
Lo siento, pero no dispongo de información suficiente para responder.
La información proporcionada no incluye el nombre del director.
Según el contexto, no es posible determinar la fecha.
En los documentos no se indica el horario de apertura.
No hay información sobre esto en las fuentes.
Mi dispiace, ma non ho trovato informazioni su questo nei documenti forniti.
Sulla base del contesto fornito non è possibile rispondere alla domanda.
Le informazioni fornite non includono il nome del fondatore.
I testi non dicono nulla a riguardo.
Desculpe, mas não encontrei essa informação.
Com base no contexto fornecido, não é possível responder.
A informação não está disponível nos documentos.
Infelizmente, não sei a resposta.
Het spijt me, maar ik kan het antwoord niet vinden in de documenten.
Op basis van de context kan deze vraag niet worden beantwoord.
In de verstrekte tekst wordt dit niet vermeld.
Daar heb ik geen informatie over.
Przepraszam, ale nie znam odpowiedzi na to pytanie.
W podanych dokumentach nie ma informacji na ten temat.
Na podstawie kontekstu nie można odpowiedzieć na to pytanie.
ご提供いただいた情報からは判断できません。
この質問に対する回答は文書内に見当たりません。
該当する情報が見つかりませんでした。
很抱歉,文档中没有关于这个问题的信息。
根据上下文无法回答该问题。
我没有找到相关的内容。
해당 내용은 문서에서 찾을 수 없습니다.
죄송하지만 그 질문에 대한 정보가 없습니다.
Darüber liegen mir keine Erkenntnisse vor.
Aus den Unterlagen geht nicht hervor, wann das Büro schließt.
Leider kann ich Ihnen dazu nichts sagen.
Die Dokumente erwähnen den Geschäftsführer nicht.
Je ne suis pas en mesure de répondre.
Le document fourni ne précise pas le délai.
Je n'ai malheureusement pas cette information.
Desafortunadamente, no tengo esa información.
No está mencionado en el texto.
No sé la respuesta.
Non sono in grado di rispondere a questa domanda.
Purtroppo non ho questa informazione.
Il documento non specifica il termine.
Lamento, mas não tenho essa informação.
O documento não especifica o prazo.
Ik weet het antwoord niet.
Die informatie staat niet in het document.
Niestety nie mam takiej informacji.
Dokument nie określa terminu.
その質問にはお答えできません。
文書には営業時間に関する情報がありません。
文档没有说明退款期限。
对不起,我不清楚这个问题的答案。
문서에 환불 기한에 대한 언급이 없습니다.
Das kann ich Ihnen leider nicht sagen.
Leider konnten wir dazu nichts finden.
Je ne peux malheureusement pas fournir cette information.
No tengo acceso a esa información.
その件については情報がございません。
その情報は提供されていません。
文档没有提供关于保修的信息。
empty response
NOT_FOUND
not found
N/A
None
null
NO_ANSWER_FOUND
out of scope
OUT_OF_SCOPE
OutOfScope
[NO ANSWER]
No information.
No relevant information found.
No relevant documents were found.
Not mentioned in the documents.
Not mentioned anywhere.
Not specified.
That isn't stated.
Not found in the notes.
Not available in the provided context.
No answer found.
No results found.
Nothing found.
Nothing about that in the docs.
There is nothing about parental leave in the handbook.
The handbook says nothing about parental leave.
This topic is outside what my sources cover.
That's beyond what I know.
I'm afraid I don't know.
I have no idea.
No idea.
I couldn't find anything about that.
We couldn't find any information on this topic.
I was not able to find the fee in the provided documents.
The answer isn't in the knowledge base.
The context provided does not specify who wrote it.
The provided context doesn't seem to contain details on pricing.
There's no mention of a caterer.
The passages make no mention of a caterer.
The documents are silent on this.
The documents lack information about the firm's caterer.
Information about the caterer is not available.
Information on that topic is missing from the documents.
I cannot answer this question based on the given context.
Based on the provided context, I can't determine the caterer.
The question cannot be answered from the passages.
It is not possible to determine this from the documents.
Unable to answer.
Cannot answer.
Insufficient context to answer.
There is not enough information to answer the question.
The documents do not provide enough information to say.
I don't have access to that information.
I do not have any data about this.
My sources don't cover this topic.
Your question is out of scope.
Unfortunately, the documents I have do not mention it.
I'm sorry, but the documents don't say which caterer the firm hires.
Sorry, I can't help with that.
The retrieved passages only discuss refunds; they don't mention a caterer.
I don't know. The documents only cover refund policies.
Neither document mentions a caterer.
No document mentions the caterer.
As an AI, I don't have that information.
The text doesn't say. Please contact HR.
None of the passages answer the question.
It's not clear from the documents.
The exact date is not known from the sources.
The source does not state this explicitly.
Dazu, wann die Kantine schließt, steht in den Unterlagen nichts.
Keine Angabe.
Keine Angaben.
Keine Information.
Nicht gefunden.
Keine Antwort gefunden.
Dazu liegen keine Angaben vor.
In den Dokumenten wird das nicht erwähnt.
Das wird nirgends erwähnt.
Welchen Caterer die Firma hat, geht aus den Unterlagen nicht hervor.
Die Unterlagen schweigen dazu.
Das weiß ich nicht.
Dazu kann ich nichts sagen.
Über den Caterer finde ich in den Unterlagen nichts.
Hierzu fehlen mir die Informationen.
Diese Frage liegt außerhalb meines Wissensbereichs.
Ich habe dazu nichts gefunden.
Nicht im Kontext enthalten.
Tut mir leid, das kann ich nicht beantworten.
Aucune information.
Non mentionné.
Non précisé dans les documents.
Je n'ai rien trouvé à ce sujet.
Les documents ne disent rien sur le traiteur.
Le nom du traiteur n'est pas indiqué dans le contexte.
Cette question sort du champ de mes connaissances.
Sur la durée de la garantie, les documents ne précisent rien.
Impossible de répondre.
Aucun document ne mentionne le traiteur.
Je l'ignore.
Sin información.
No se menciona.
No encontrado.
No hay respuesta en los documentos.
Los documentos no dicen nada sobre el florista.
Sobre cuánto dura la garantía, los documentos no dicen nada.
No dispongo de esa información.
La pregunta está fuera de mi alcance.
No lo sé.
El nombre del florista no aparece en el contexto.
Nessuna informazione.
Non menzionato.
I documenti non dicono nulla sul fiorista.
Non lo so.
Sulla durata della garanzia, nei documenti non c'è nulla.
Sem informação.
Não mencionado.
Os documentos não dizem nada sobre o florista.
Não há informação sobre o florista nos documentos.
Geen informatie.
Niet vermeld.
De documenten zeggen niets over de bakker.
Over hoe lang de garantie duurt, staat niets in de documenten.
Dat staat niet in de documenten.
Nie znaleziono.
Nie podano.
Dokumenty nic nie mówią o piekarzu.
O tym, jak długo trwa gwarancja, w dokumentach nic nie ma.
情報なし
該当なし
不明
保証期間がどれくらいかについては、資料に記載がありません。
資料には花屋についての記述は見当たりませんでした。
文書では触れられていません。
この質問は私の知識の範囲外です。
未提及
没有答案
没有相关信息。
关于保修期多长,资料中没有说明。
文档未提及花店。
上下文中没有提供花店的信息。
抱歉,我不知道。
这个问题超出了我的知识范围。
무응답
정보 없음
해당 정보를 찾을 수 없습니다.
보증 기간이 얼마나 되는지는 문서에 나와 있지 않습니다.
문서에 언급되지 않았습니다.
I was unable to locate a policy on remote work in the documents.
The knowledge base contains no entry about parking.
I don't see any mention of parking in the sources provided.
There's nothing in the context that answers your question.
Your question isn't addressed in the available material.
Regrettably, this detail is not included in the information provided.
I do not have enough context to answer.
The excerpts do not reveal who founded the company.
From the passages alone, one cannot tell who founded it.
It is not specified in the documentation when the office closes.
When the office closes is not stated in the documents.
The documents don't say anything about when the office closes.
I'm not able to provide an answer from the given sources.
I'm unable to find relevant information.
That information was not provided.
No mention of this in the sources.
Not enough information.
No context provided.
Does not say.
Not covered in the docs.
I lack the information needed to answer.
I'm not aware of any policy on that.
Sorry, I have nothing on that.
This falls outside my area of knowledge.
Apologies, but none of my sources mention parking fees.
Die Dokumentation enthält dazu nichts.
Zu Parkgebühren finde ich keine Angaben.
Wer die Firma gegründet hat, wird in den Quellen nicht genannt.
Leider habe ich keine Informationen darüber, wann das Büro schließt.
Mir ist nicht bekannt, wann das Büro schließt.
Das kann ich dem Kontext nicht entnehmen.
Der Kontext reicht nicht aus, um die Frage zu beantworten.
Keine Ahnung.
Aus dem Text geht das nicht hervor.
Es gibt keine Informationen dazu.
Je n'en sais rien.
Les sources n'indiquent pas quand le bureau ferme.
Le texte ne dit pas qui a fondé l'entreprise.
Aucune mention de frais de parking dans les documents.
Il n'y a aucune information à ce sujet dans le contexte.
Je ne trouve pas la réponse dans les documents.
Cela n'est pas mentionné.
La información solicitada no está en los documentos.
No encuentro nada sobre eso en las fuentes.
El texto no dice quién fundó la empresa.
Los documentos no especifican cuándo cierra la oficina.
No hay datos suficientes para responder.
Lo siento, no puedo ayudarte con eso.
Nel contesto non si dice chi ha fondato l'azienda.
Le fonti non indicano quando chiude l'ufficio.
Non trovo nulla al riguardo nei documenti.
Non è possibile rispondere.
Os documentos não informam quando o escritório fecha.
O texto não diz quem fundou a empresa.
Nada consta sobre isso nos documentos.
Não há dados suficientes para responder.
In de bronnen staat niet wanneer het kantoor sluit.
Ik kan daar niets over vinden.
De tekst vermeldt niet wie het bedrijf heeft opgericht.
W źródłach nie ma informacji o tym, kiedy biuro jest zamykane.
Tekst nie mówi, kto założył firmę.
Nie znalazłem odpowiedzi w dokumentach.
オフィスが何時に閉まるかは資料に書かれていません。
会社の創業者については言及がありません。
提供された情報には含まれていません。
情報が不足しているため、回答できません。
申し訳ございませんが、該当する情報は見つかりませんでした。
文中没有提到公司的创始人。
资料里没有说办公室几点关门。
我无法从提供的文档中找到答案。
知识库中没有相关内容。
根据现有资料,无法得知。
没有提及。
문서에는 사무실이 언제 닫는지 나와 있지 않습니다.
제공된 자료로는 답변할 수 없습니다.
관련 정보를 찾지 못했습니다.
""".strip().splitlines()
STATEMENTS = """
There is no information desk in the lobby.
No answer key is printed in the student edition.
The app cannot answer questions offline.
L'application ne peut pas répondre aux questions hors ligne.
La aplicación no puede responder preguntas sin conexión.
Er wordt geen informatie gedeeld met derden.
De app kan zonder verbinding geen vragen beantwoorden.
该应用在离线时无法回答问题。
Die Rückgabe ist nicht möglich, wenn die Ware benutzt wurde.
Wir haben keine Filiale in Berlin.
Sie müssen keine Versandkosten zahlen.
Der Tarif gilt nicht an Feiertagen.
Mitarbeiter können Überstunden nicht auszahlen lassen.
Die Garantie enthält keine Schäden durch Wasser.
Der Vertrag enthält keine Kündigungsfrist.
Kinder unter 12 Jahren können das Gerät nicht bedienen.
Nein, das Passwort darf nicht geteilt werden.
Sie können das Paket nicht umtauschen.
Personenbezogene Daten dürfen nicht weitergegeben werden.
Le remboursement n'est pas possible après 14 jours.
Les employés ne peuvent pas cumuler ces congés.
La garantie ne couvre pas les dégâts des eaux.
Non, vous ne pouvez pas annuler la commande.
Il n'y a pas de frais de livraison.
El reembolso no es posible después de 14 días.
No, los empleados no pueden acumular vacaciones.
La garantía no cubre daños por agua.
No hay gastos de envío.
No se permiten mascotas en la oficina.
Il rimborso non è possibile dopo 14 giorni.
Non ci sono spese di spedizione.
La garanzia non copre i danni da acqua.
I dipendenti non possono cumulare le ferie.
O reembolso não é possível após 14 dias.
Não há custos de envio.
A garantia não cobre danos causados por água.
De garantie dekt geen waterschade.
Er zijn geen verzendkosten.
U kunt de bestelling niet annuleren.
Medewerkers mogen het wachtwoord niet delen.
Gwarancja nie obejmuje szkód spowodowanych wodą.
Nie ma kosztów wysyłki.
Nie można zwrócić używanego towaru.
返品は14日を過ぎるとできません。
送料はかかりません。
ペットは入れません。
十四天后不能退款。
没有运费。
员工不能共享密码。
보증은 침수를 보장하지 않습니다.
배송비가 없습니다.
비밀번호를 공유할 수 없습니다.
The refund is not possible after 14 days.
There are no shipping costs, so you pay nothing.
No, employees cannot share a password.
The n'th item has no fee.
Für Bestellungen unter 50 Euro gibt es keine kostenlose Lieferung.
Das Angebot richtet sich nicht an Privatkunden.
Ohne Beleg kann die Kasse den Betrag nicht erstatten.
Die App speichert keine Daten auf dem Server.
Im Handbuch steht, dass das Ventil nicht verstellt werden darf.
Vertrauliche Dokumente dürfen Sie nicht in den Papierkorb werfen.
Die Quelle des Fehlers ist ein nicht angeschlossenes Kabel.
Wir können Ihre Adresse ohne Ausweis nicht ändern.
Le service client n'est pas joignable le dimanche.
Vous n'avez pas besoin de joindre le ticket.
Ce forfait ne donne pas accès aux salons.
Les données personnelles ne sont pas transmises à des tiers.
Les documents ne doivent pas être jetés.
No es necesario imprimir el billete.
El plan básico no incluye soporte telefónico.
Los datos no se comparten con terceros.
La póliza no cubre el robo.
No se puede cancelar después del envío.
Il piano base non include l'assistenza telefonica.
I dati non vengono condivisi con terzi.
Non è necessario stampare il biglietto.
Não é necessário imprimir o bilhete.
O plano básico não inclui suporte por telefone.
Os dados não são compartilhados com terceiros.
Het basisabonnement bevat geen telefonische ondersteuning.
Gegevens worden niet met derden gedeeld.
U hoeft het ticket niet af te drukken.
Plan podstawowy nie zawiera wsparcia telefonicznego.
Nie trzeba drukować biletu.
Dane nie są przekazywane osobom trzecim.
領収書がない場合、返金はありません。
日曜日は営業していません。
个人资料不会提供给第三方。
套餐不包括电话支持。
没有收据不能退款。
영수증이 없으면 환불되지 않습니다.
일요일에는 영업하지 않습니다.
Die Kündigung bedarf nicht der Schriftform.
Bei Krankheit müssen Sie keine Bescheinigung am ersten Tag vorlegen.
Der Fahrstuhl hält nicht im zweiten Stock.
Les frais ne sont pas remboursés.
Le mot de passe ne doit pas être partagé.
El ascensor no para en la segunda planta.
No, no hace falta reserva.
Non serve prenotazione.
L'ascensore non si ferma al secondo piano.
Não precisa de reserva.
De lift stopt niet op de tweede verdieping.
Rezerwacja nie jest potrzebna.
予約は必要ありません。
不需要预约。
예약이 필요하지 않습니다.
El documento no debe firmarse dos veces.
Das Dokument muss nicht unterschrieben werden.
Le document ne doit pas être signé.
Nous ne sommes pas ouverts le dimanche.
Nous ne pouvons pas rembourser les articles soldés.
Nous n'avons pas de magasin à Lyon.
Aucun document n'est requis pour l'inscription.
Aucune donnée n'est transmise à des tiers.
No hay acceso los fines de semana.
Es sind keine Dokumente erforderlich.
Sie können den Termin nicht telefonisch bestätigen.
データは外部に保存しないでください。
この情報は社外に公開していません。
追加の情報は必要ありません。
公司没有提供远程办公津贴。
没有资料的申请不予受理。
员工不能提供虚假资料。
If the document does not contain a stamp, it is sent back.
If you cannot find the invoice, contact the seller.
If you don't know your number, look at the back of the card.
When the file is not found, the server answers 404.
A request that does not contain a token is refused.
Should you not find the key, ask at the desk.
"I cannot open the door," the clerk said.
The clerk said, "I don't know."
“I have no idea,” she replied.
The error "File not found" means that the path is wrong.
He wrote: "No information is available."
The leaflet is no help, but the guide does not cover Macs: take build 7.3.
The guide does not cover Macs; use tablets.
The guide does not cover Macs. Use tablets.
The handbook doesn't say how long it takes, but it costs 30 euros.
I don't know the exact fee, but refunds take 14 days.
The documents do not mention the fee. The deadline is 14 days.
No.
No, it is not allowed.
No, you cannot.
There is no fee.
There are no limits.
There is no warranty.
No data is shared with third parties.
We do not share your information with third parties.
Your information is not shared with anyone.
No documents are required.
No information is required to sign up.
You do not need to provide any documents.
We cannot refund sale items.
We can't change your address without an ID.
Customers cannot find their order number in the app.
The form does not list fees.
The app does not store any data.
The policy does not cover theft.
Theft is not covered.
VAT is not included.
The product is not available in blue.
Employees are not allowed to answer calls.
The phone cannot be located in the room.
Answers are not accepted after Friday.
The question is not hard.
Unknown senders are blocked.
Nobody knows the code but the manager.
The password is known only to you.
Access to the vault is not possible at night.
The lamp is out of order.
It is not possible to cancel after 14 days.
He does not know the rules.
They did not find a cure.
The manual states that the valve must not be opened.
The document must not be signed twice.
The file was deleted because nobody used it.
The note is not legally binding.
The results are not public.
The page does not load on old browsers.
The library does not have a branch in Lyon.
None of the rooms has a bath.
None of the plans include support.
Nothing is free.
There is nothing to pay.
You pay nothing.
Nothing changes for existing customers.
No one may enter.
The warranty lasts two years.
Do not write in the document.
Do not include the serial number in the mail.
The scope of the contract is limited to Europe.
Work outside the scope of the contract is billed hourly.
Wenn das Dokument keine Stempel enthält, wird es abgelehnt.
Falls Sie die Rechnung nicht finden, wenden Sie sich an den Verkäufer.
„Ich weiß es nicht“, sagte der Pförtner.
Das Handbuch behandelt Macs nicht; nutzen Sie tablets.
Dazu steht nichts in den Unterlagen, aber die Frist beträgt 14 Tage.
Es gibt keine Gebühr.
Ohne Stempel ist der Antrag ungültig.
Die Daten werden nicht gespeichert.
Sie müssen keine Angaben zum Einkommen machen.
Wir geben keine Informationen an Dritte weiter.
Der Antrag kann nicht online gestellt werden.
Diebstahl ist nicht abgedeckt.
Si le document ne contient pas de stamp, il est rejeté.
« Je ne sais pas », dit le portier.
Le guide ne couvre pas Macs ; utilisez tablets.
Il n'y a pas de frais.
Nous ne partageons aucune information avec des tiers.
Le vol n'est pas couvert.
Vous ne devez fournir aucun document.
Si el documento no contiene una sello, se rechaza.
«No lo sé», dijo el portero.
La guía no cubre Macs; use tablets.
No hay comisión.
No se aceptan mascotas.
No compartimos información con terceros.
Se il documento non contiene una sello, viene respinto.
La guida non copre Macs; usare tablets.
Non ci sono costi.
Se o documento não contiver carimbo, será rejeitado.
Não há taxa.
Als het document geen stempel bevat, wordt het afgewezen.
Er zijn geen kosten.
Jeśli dokument nie zawiera stempla, zostanie odrzucony.
Nie ma opłat.
文書に印鑑が含まれていない場合、却下されます。
「わかりません」と係員は言いました。
手数料はありません。
情報は第三者に提供されません。
このガイドはMacsを扱っていません。tabletsを使ってください。
如果文件不包含公章,将被拒绝。
“我不知道,”店员说。
没有费用。
我们不会向第三方提供您的信息。
指南不包括Macs;请使用tablets。
문서에 도장이 없으면 거부됩니다.
"모르겠습니다"라고 직원이 말했습니다.
수수료가 없습니다.
The office does not close on Sundays.
Guests cannot find parking on weekends.
If the customer is not known, ask for an ID.
Unless the contract states otherwise, no notice is needed.
The contract states no deadline.
No deadline applies.
The price does not include breakfast.
The page contains no ads.
He cannot answer the phone.
The manager does not know about it.
The author does not mention her age in the novel.
Water is not provided.
The tool does not find duplicates.
It is not documented who owns the house, but Anna lives there.
The sources differ: one says ten, the other eleven.
I do not recommend it.
We do not ship to Canada.
We have no branch in Berlin.
We have no fees.
You can't find it in stores; order it online.
The database does not support transactions.
The material does not contain latex.
The guide does not go to the summit.
The documentation is not free.
Nothing in the contract forbids pets.
It isn't allowed.
The handbook does not permit pets.
Not before Monday.
Not in Germany.
Never.
None of them.
Nobody.
There is no such rule.
No information leaves the company.
The information desk is not open on Sundays.
The answer is 42, not 43.
The answer is no.
The answer is not five but six.
The data center has no windows.
Unable to walk, he took a taxi.
It is impossible to miss.
I would not know what to do without the manual: it explains everything in 12 steps.
The text is not long: it has 40 pages.
If no answer comes within 14 days, the request counts as refused.
"Not found" is what the page shows.
Call us if you can't find the form.
The quote "we do not know" is from the CEO.
Das Büro schließt sonntags nicht.
Der Text ist nicht lang.
Die Seite enthält keine Werbung.
Wenn keine Antwort kommt, gilt der Antrag als abgelehnt.
Der Preis enthält kein Frühstück.
Es gibt keine solche Regel.
Wir liefern nicht nach Kanada.
Die Frage ist nicht schwer.
Das Material enthält kein Latex.
Niemand kennt den Code.
Falls dazu keine Angaben vorliegen, gilt die gesetzliche Frist.
Le bureau ne ferme pas le dimanche.
La page ne contient pas de publicité.
Le prix ne comprend pas le petit-déjeuner.
Nous ne livrons pas au Canada.
Personne ne connaît le code.
El precio no incluye el desayuno.
No enviamos a Canadá.
Nadie conoce el código.
La página no contiene publicidad.
Il prezzo non include la colazione.
Non spediamo in Canada.
O preço não inclui o café da manhã.
Não enviamos para o Canadá.
De prijs is exclusief ontbijt, er zit niets bij.
Het kantoor sluit niet op zondag.
Cena nie obejmuje śniadania.
Biuro nie jest otwarte w niedzielę.
朝食は含まれていません。
日曜日は閉まりません。
広告はありません。
価格不包括早餐。
我们不送货到加拿大。
周日不关门。
아침 식사는 포함되지 않습니다.
캐나다로는 배송하지 않습니다.
""".strip().splitlines()
"""Sentences with a negation, a condition, quoted speech or a partial answer, which answer."""


@pytest.mark.parametrize("answer", REFUSALS)
def test_a_refusal_is_seen(answer: str) -> None:
    assert read_abstention(answer).abstained


@pytest.mark.parametrize("answer", STATEMENTS)
def test_a_statement_is_no_refusal(answer: str) -> None:
    assert not read_abstention(answer).abstained


def test_words_have_the_roles_of_their_language() -> None:
    assert readings("the handbook does not describe") == ["wdwnV"]
    assert readings("steht in den Unterlagen nichts") == ["VpwdnI"]
    assert readings("我不知道") == ["#snk"]
    assert readings("it lasts two years") == []
    assert len(every_reading("it lasts")) < len(every_reading("情報"))


def test_a_condition_does_not_decline() -> None:
    (roles,) = readings("if the documents do not say")
    assert not refuses(roles)
    assert refuses(roles.removeprefix("c"))


@pytest.mark.parametrize(
    "run", ["not ", "documents do not ", "no, ", "if ", '"a', "'a ", "ない", "; ", "cannot and "]
)
def test_the_time_of_a_long_answer_is_bounded(run: str) -> None:
    started = time.process_time()
    read_abstention(run * (100_000 // len(run)))
    assert time.process_time() - started < 8
