from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rageval.judges.offline import refusals
from pytest_rageval.judges.offline.abstention import read_abstention
from pytest_rageval.judges.offline.refusals import declines_elsewhere

REFUSALS = """
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
""".strip().splitlines()
STATEMENTS = """
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
""".strip().splitlines()
"""Sentences with a negation that answer a question."""


@pytest.mark.parametrize("sentence", REFUSALS)
def test_a_refusal_in_another_language_is_seen(sentence: str) -> None:
    assert declines_elsewhere(sentence)


@pytest.mark.parametrize("sentence", STATEMENTS)
def test_a_negation_in_another_language_is_no_refusal(sentence: str) -> None:
    assert not declines_elsewhere(sentence)


@pytest.mark.parametrize(
    "answer",
    [
        "Es tut mir leid. Das weiß ich nicht. Bitte wenden Sie sich an den Kundendienst.",
        "Je suis désolé, je ne peux pas répondre. N'hésitez pas à appeler le service client.",
        "申し訳ありませんが、わかりません。お問い合わせください。",
        "抱歉,文档中没有提到。请联系客服。",
    ],
)
def test_an_offer_after_a_refusal_is_no_answer(answer: str) -> None:
    assert read_abstention(answer).abstained


def test_an_answer_after_a_refusal_is_one() -> None:
    answer = "Das steht nicht in den Unterlagen. Sonst gilt eine Frist von 14 Tagen. Sie ist fest."
    assert not read_abstention(answer).abstained


WORDS = sorted(
    {
        word
        for patterns in refusals._PATTERNS.values()
        for pattern in patterns
        for word in re.findall(r"[^\W\d_]+", pattern)
    }
)


CUES = [cue for cues in refusals._CUES.values() for cue in cues]


@given(st.lists(st.sampled_from([*WORDS, *CUES]), max_size=9))
def test_a_sentence_is_found_wherever_its_pattern_matches(words: list[str]) -> None:
    sentence = " ".join(words)
    found = any(refusals._reader(name).search(sentence) for name in refusals._PATTERNS)
    assert declines_elsewhere(sentence) is found
