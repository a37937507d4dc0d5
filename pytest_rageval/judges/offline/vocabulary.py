"""Word lists of the offline judge: plain words, read through the stemmers of ``lexicon``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

CORE_WORDS: Final = frozenset(
    """
    a an the is are was were be been am of in on at to for from by with and or but it its this that
    these those as i you he she they we his her their our my your do does did have has had will
    would can could s t d ll re ve m not no nor
    """.split()
)
"""Grammar: never counted."""

ENGLISH: Final = frozenset(
    """
    the of is are was were to and for with that this these those which what how when who where does
    did it its by from has have had not can will would should if there their you your they at be
    in on an or but no so he she we my our his her
    """.split()
)
"""Small words by which English is recognised."""

SOFT_WORDS: Final = frozenset(
    """
    about above after again all also although any because before being below between both cannot
    doing down during each either else ever every few further having here hers herself him himself
    how however if into itself just let lets may me might more most much must myself off once one
    only other ours out over own per same shall should so some such than theirs them themselves then
    there thereby therefore though through thus too under until up upon us very what when where
    whereas whether which while who whom whose why within without yes yet yours yourself anything
    somebody
    everybody anybody
    everything something anyone everyone someone nearly almost quite already still allow allowed
    permit permitted possible accept accepted able need needed require required necessary
    """.split()
)
"""Closer to grammar than to content: small weight."""

LIGHT_WORDS: Final = frozenset(
    """
    able according act actually allow appear around available base become begin big bring call
    case cause certain cost change come common consider contain continue currently day different end
    especially example fact famous find first follow form general get give go good great group
    happen help high important include information involve keep kind know known large later like
    likely line long look lot make mainly major many mean member mention multiple name need new
    number occur often part particular people person place play point popular possible present
    provide put really refer relate require result run say second see seem several show similar
    small sometimes specific start state still take tell term thing think time turn type use used
    usually various view want way well word work world year
    """.split()
)
"""Frequent in any text, so a match is weak evidence."""

NEGATIONS: Final = frozenset(
    """
    not no never none neither nor without cannot nobody nothing nowhere hardly barely scarcely
    lack unable refuse deny reject unlikely absent
    except forbid forbidden prohibit prohibited ban banned
    """.split()
)

ABSOLUTES: Final = frozenset(
    """
    only always never all every entirely completely solely exclusively none any sole must
    purely fully whole unanimously everyone everybody nobody throughout unanimous
    """.split()
)

SELF_TALK: Final = frozenset("i i'm i've i'd i'll my me myself mine im ive".split())
"""Words about the assistant itself, which documents do not contain."""

EXCLUSIVE: Final[tuple[str, ...]] = (
    # One group per line: its members contradict each other.
    "american british english french german italian spanish polish russian chinese japanese indian "
    "irish scottish dutch swedish norwegian danish greek turkish portuguese mexican canadian "
    "australian austrian brazilian egyptian korean jewish swiss belgian hungarian czech finnish "
    "argentine iranian persian arab african asian european cuban jamaican ukrainian romanian welsh",
    "america england france germany italy spain poland russia china japan india ireland scotland "
    "netherlands sweden norway denmark greece turkey portugal mexico canada australia austria "
    "brazil egypt korea switzerland belgium hungary africa asia europe cuba jamaica ukraine",
    "january february march april may june july august september october november december",
    "monday tuesday wednesday thursday friday saturday sunday",
    "spring summer autumn winter",
    "north south east west", "northern southern eastern western",
    "northeast northwest southeast southwest",
    "red blue green yellow black white orange purple pink brown grey amber",
    "catholic protestant muslim jewish hindu buddhist orthodox atheist anglican lutheran",
    "christianity islam judaism hinduism buddhism",
    "father mother", "son daughter", "brother sister", "husband wife", "uncle aunt",
    "king queen", "prince princess", "boy girl", "man woman", "male female", "actor actress",
    "first second third fourth fifth sixth seventh eighth ninth tenth",
    "win lose", "victory defeat", "success failure", "successful unsuccessful", "winner loser",
    "increase decrease", "rise fall", "grow shrink", "gain lose", "raise lower", "rise drop",
    "expand contract", "accelerate slow", "strengthen weaken", "improve worsen",
    "before after", "early late", "young old", "begin end", "start finish", "open close",
    "large small", "big small", "tall short", "long short", "high low", "major minor", "more less",
    "largest smallest", "highest lowest", "best worst", "longest shortest", "oldest youngest",
    "most least", "many few", "majority minority", "above below", "over under", "inside outside",
    "rich poor", "wealthy poor", "positive negative", "favorable unfavorable", "love hate",
    "support oppose", "accept reject", "agree disagree", "approve reject", "friend enemy",
    "ally enemy", "legal illegal", "true false", "right wrong", "left right", "public private",
    "allow forbid", "permit prohibit", "include exclude", "enable disable", "encourage discourage",
    "birth death", "born die", "alive dead", "hire fire", "buy sell", "marry divorce",
    "married single", "religious secular", "democrat republican", "liberal conservative",
    "capitalist communist", "urban rural", "ancient modern", "hot cold", "warm cold", "wet dry",
    "arrive leave", "enter leave", "join leave", "attack defend", "peace war", "war peace",
    "praise criticize", "acclaim criticize", "popular unpopular", "common rare", "rarely often",
    "frequently rarely", "always sometimes", "easy difficult", "easy hard", "simple complex",
    "temporary permanent", "voluntary forced", "strong weak", "safe dangerous", "fast slow",
    "healthy sick", "hero villain", "guilty innocent", "maximum minimum", "major minor",
    "fiction nonfiction", "novel film", "guitar piano drums violin", "army navy",
    "city village", "mountain river ocean desert", "planet star", "comedy tragedy drama horror",
    "democracy monarchy dictatorship", "president king emperor", "land sea", "fail succeed",
    "separate unite", "destroy build", "create destroy", "remember forget", "ban allow",
    "outnumber outnumbered", "mr mrs miss", "same different", "together apart",
    "present absent", "full empty",
    "on off", "in out", "up down", "cool warm", "bright dark", "light dark", "light heavy",
    "all none few some",
    "morning evening afternoon night noon midnight", "mornings evenings afternoons nights",
    "mandatory optional", "compulsory optional", "required optional", "compulsory voluntary",
    "boil freeze melt", "upload download", "push pull", "profit loss", "credit debit",
    "weekday weekend", "wider narrower", "wide narrow", "deep shallow", "thick thin",
    "bigger smaller", "larger smaller", "higher lower", "longer shorter", "older younger",
    "faster slower", "earlier later", "lender borrower", "employer employee", "seller buyer",
    "landlord tenant", "upper lower", "top bottom", "front back", "inner outer", "hard soft",
    "minimum maximum", "least most", "asleep awake", "sunrise sunset", "dawn dusk",
    "internal external", "domestic foreign", "native foreign", "import export", "odd even",
)  # fmt: skip

IRREGULAR: Final[dict[str, str]] = dict(
    pair.split(":")
    for pair in """
    won:win wrote:write written:write went:go gone:go made:make took:take taken:take gave:give
    given:give came:come became:become began:begin begun:begin saw:see seen:see knew:know known:know
    got:get gotten:get said:say told:tell thought:think found:find held:hold kept:keep left:leave
    led:lead lost:lose met:meet paid:pay ran:run sang:sing sung:sing sold:sell sent:send sat:sit
    spoke:speak spoken:speak spent:spend stood:stand taught:teach wore:wear worn:wear built:build
    bought:buy brought:bring caught:catch chose:choose chosen:choose drew:draw drawn:draw
    drove:drive driven:drive
    ate:eat eaten:eat fell:fall fallen:fall felt:feel fought:fight flew:fly flown:fly
    grew:grow grown:grow heard:hear hid:hide hidden:hide laid:lay rose:rise risen:rise shot:shoot
    shown:show slept:sleep stole:steal stolen:steal struck:strike swam:swim threw:throw thrown:throw
    understood:understand woke:wake broke:break broken:break bore:bear fed:feed fled:flee
    forgot:forget forgotten:forget froze:freeze frozen:freeze lent:lend lit:light meant:mean
    men:man women:woman children:child people:person feet:foot teeth:tooth mice:mouse wives:wife
    knives:knife wolves:wolf better:good best:best worse:bad worst:worst
    dying:die lying:lie died:die dies:die analyses:analysis crises:crisis criteria:criterion
    jan:january feb:february
    mon:monday tue:tuesday tues:tuesday wed:wednesday thu:thursday thurs:thursday fri:friday
    mar:march apr:april jun:june jul:july aug:august sep:september sept:september oct:october
    nov:november dec:december dr:doctor mr:mister colour:color honour:honor favourite:favorite
    centre:center theatre:theater labour:labor defence:defense organisation:organization
    organise:organize grey:gray programme:program travelled:travel travelling:travel
    """.split()
)
"""Forms that the stemmer does not unify: irregular ones, units, months, spellings."""

ROMAN: Final[dict[str, str]] = dict(
    pair.split(":")
    for pair in """
    II:2 III:3 IV:4 VI:6 VII:7 VIII:8 IX:9 XI:11 XII:12 XIII:13 XIV:14 XV:15 XVI:16
    """.split()
)

SCALES: Final[Mapping[str, int]] = {
    "hundred": 100,
    **dict.fromkeys("thousand tausend duizend mille mila mil".split(), 1_000),
    **dict.fromkeys(
        "million millions millionen miljoen millón millones milione milioni milhão milhões".split(),
        1_000_000,
    ),
    **dict.fromkeys(
        "billion billions milliarde milliarden milliard milliards miljard miliardo "
        "miliardi".split(),
        1_000_000_000,
    ),
    "trillion": 1_000_000_000_000,
}
"""Words that multiply the number before them."""

APPROXIMATE: Final = frozenset(
    """
    about above almost approximately around circa close least less more most nearly over roughly
    under up below beyond exceeding
    """.split()
)
"""Words that make the next number a bound or an estimate."""

UNITS: Final[Mapping[str, str]] = {
    short: name
    for line in """
    seconds s sec secs sekunde sekunden seconde secondes segundo segundos secondo secondi
    milliseconds ms millisecond
    minute min mins minutes minuten minuto minutos minuti minuut 分钟
    hour h hr hrs hours stunde stunden heure heures hora horas ora uur uren 時間 小时
    day days tag tage tagen jour jours día dia días dias giorno giorni dag dagen 日間 天
    week wk wks weeks woche wochen semaine semaines semana semanas settimana settimane weken
    month mo months monat monate monaten mois mes meses mese mesi mês maand maanden
    year yr yrs years jahr jahre jahren ans année années año años anno anni ano anos jaar jaren
    night nights nacht nächte nuit nuits noche noches
    milligram mg milligrams milligramm milligramme milligrammes miligramos
    gram g grams gramm gramme grammes gramo gramos grammo grammi grama gramas
    kilogram kg kgs kilograms kilogramm kilogramme kilogrammes kilo kilos kilogramos chilo
    kilogram chilogrammo chilogrammi quilo quilos quilogramas
    tonne tonnes ton tons tonnen tonelada toneladas tonnellata tonnellate
    pound lb lbs pounds £ gbp pfund
    ounce oz ounces
    millimeter mm millimeters millimetre millimetres millimètres milímetros
    centimeter cm centimeters centimetre centimetres zentimeter centimètres centímetros
    meter m meters 米 メートル metre metres mètre mètres metro metros metri
    kilometer km kms 公里 キロ kilometers kilometre kilometres kilomètre kilomètres
    kilometer kilómetro kilómetros
    kilometer chilometro chilometri quilômetro quilômetros
    mile mi miles meile meilen
    foot ft feet
    milliliter ml milliliters millilitre millilitres mililitros millilitri
    centiliter cl centiliters centilitres
    liter l liters litre litres litro litros litri
    squaremeter m² sqm quadratmeter
    squarekilometer km² quadratkilometer
    cubicmeter m³ kubikmeter
    byte bytes
    kilobyte kb kilobytes
    megabyte mb megabytes
    gigabyte gb gigabytes
    terabyte tb terabytes
    mebibyte mib mebibytes
    gibibyte gib gibibytes
    hertz hz
    kilohertz khz
    megahertz mhz
    gigahertz ghz
    watt w watts
    kilowatt kw kilowatts
    megawatt mw megawatts
    kilowatthour kwh
    volt v volts
    milliamperehour mah
    pixel px pixels
    mph mph
    kph km/h kmh
    celsius °c
    fahrenheit °f
    degree ° degrees grad grados gradi graus graden degré degrés
    percent % pct percentage prozent pourcent procent
    euro € eur euros
    dollar $ usd dollars dólar dólares dollari dólares
    yen ¥ jpy
    franc chf francs franken
    reais r$ reales
    cent cents centime centimes céntimos centesimi centavos
    """.strip().splitlines()
    for name, *shorts in [line.split()]
    for short in (name, *shorts)
}
"""Units as they are written and abbreviated in all languages, with one name each."""

SIZES: Final[Mapping[str, tuple[str, float]]] = {
    unit: (dimension, size)
    for dimension, sizes in {
        "mass": "milligram .001 gram 1 kilogram 1e3 tonne 1e6",
        "length": "millimeter .001 centimeter .01 meter 1 kilometer 1e3",
        "volume": "milliliter .001 centiliter .01 deciliter .1 liter 1",
        "time": "milliseconds .001 seconds 1 minute 60 hour 3600 day 86400 week 604800",
        "months": "month 1 year 12",
        "data": "byte 1 kilobyte 1e3 megabyte 1e6 gigabyte 1e9 terabyte 1e12",
        "power": "watt 1 kilowatt 1e3 megawatt 1e6",
        "money": "cent .01 euro 1",
    }.items()
    for unit, size in zip(sizes.split()[::2], map(float, sizes.split()[1::2]), strict=True)
}
"""Dimension of a unit, and its size in that dimension's first one of size 1."""

NUMERALS: Final[Mapping[str, str]] = {"dozen": "12", "twice": "2", "zero": "0", "cero": "0"}
"""Words for numbers that are not read with the others, without accents."""

DAYTIMES: Final[Mapping[str, str]] = {
    **dict.fromkeys("mittag mittags midi mediodia mezzogiorno".split(), "noon"),
    **dict.fromkeys("mitternacht minuit medianoche mezzanotte middernacht".split(), "midnight"),
}
"""English words for the times of day that have a name in other languages, without accents."""

TITLES: Final = frozenset(
    """
    dr mr mrs ms miss prof professor sir herr herrn frau mme madame monsieur dra don dona senor
    senora sr sra signor signora dott
    """.split()
)
"""Titles before a name, which may be left out."""

BOUNDS: Final[Mapping[str, int]] = {
    **dict.fromkeys(
        """
        more over above exceed exceeds exceeding least minimum mehr uber mindestens minimal plus
        mas minimo superieur superior piu almeno mais meer minstens minimaal
        """.split(),
        1,
    ),
    **dict.fromkeys(
        """
        fewer less under below up most maximum max until till weniger unter hochstens maximal bis
        moins maximum menos maximo inferieur inferior hasta sumo meno massimo minder hoogstens
        maximaal
        """.split(),
        -1,
    ),
}
"""Words before a number that make it the least (1) or the most (-1) that is meant."""

OR_BOUNDS: Final[Mapping[str, int]] = {
    **dict.fromkeys(
        """
        more older later above over greater higher longer larger mehr alter spater hoher langer plus
        mas mayor mayores piu mais meer ouder
        """.split(),
        1,
    ),
    **dict.fromkeys(
        """
        less fewer younger earlier below under lower shorter smaller weniger junger fruher moins
        menos menor menores meno minder jonger
        """.split(),
        -1,
    ),
}
"""The same after a number: "21 or older"."""

OR: Final[Mapping[str, frozenset[str]]] = {
    code: frozenset(words.split())
    for code, words in {
        "en": "or", "de": "oder", "fr": "ou", "es": "o u", "it": "o oppure", "pt": "ou", "nl": "of",
    }.items()
}  # fmt: skip
"""Words between alternatives."""

EDITIONS: Final = frozenset(
    """
    pro plus max mini ultra lite light air premium turbo xl se nano junior senior jr sr basic
    advanced deluxe business enterprise north south east west
    """.split()
)
"""Words behind a name that make it that of another product, person or place."""
WHICH: Final = frozenset("which welcher welche welches quel quelle welk welke quale qual".split())
"""Words before the kind of thing that is asked for."""
WHO: Final = WHICH | frozenset("who wer qui quien chi quem".split())
"""Words that begin a question about a person, without accents."""
MAYBE: Final = frozenset(
    """
    maybe perhaps possibly vielleicht moglicherweise eventuell quiza quizas talvez forse misschien
    mogelijk peut-etre peut
    """.split()
)
THEN: Final = frozenset(
    """
    formerly previously originally used was fruher ehemals ursprunglich damals war autrefois
    jadis etait antes anteriormente era fue prima vroeger was
    """.split()
)
"""Words for what no longer is, beside one of ``NOW``."""
NOW: Final = frozenset(
    "now today currently jetzt heute inzwischen maintenant desormais ahora hoy adesso ora agora"
    " hoje nu tegenwoordig".split()
)

HALVES: Final = frozenset("half halfte moitie mitad meta metade helft".split())
"""Words for a half, without accents."""

ABBREVIATED_UNITS: Final = frozenset(
    """
    s sec secs ms min mins h hr hrs wk wks mo yr yrs mg g kg kgs lb lbs oz mm cm m km kms mi ft ml
    cl l sqm m² km² m³ kb mb gb tb mib gib hz khz mhz ghz w kw mw v kwh mah px mph km/h kmh °c °f °
    % pct € eur $ usd £ gbp ¥ jpy chf
    """.split()
)
"""Those of ``UNITS`` that are units only after a number."""

SYNONYMS: Final[tuple[str, ...]] = (
    # One group per line: its members mean the same in a sentence that is otherwise equal.
    "start begin commence", "after afterwards", "before beforehand", "end finish conclude",
    "buy purchase acquire", "help assist",
    "beat defeat", "submit send hand", "mandatory compulsory obligatory required",
    "optional voluntary", "free gratis complimentary", "least minimum", "most maximum",
    "about approximately around roughly circa", "nearly almost", "bigger larger",
    "biggest largest", "fall drop decline decrease sink", "rise increase climb", "big large",
    "show display", "repair fix", "delete remove erase", "create make produce",
    "build construct", "author write", "leader head chief", "employee staff worker",
    "company firm business", "doctor physician", "lawyer attorney", "car automobile",
    "child kid", "city town", "film movie", "illness disease", "photo picture image",
    "error fault", "choose select pick choice", "use employ", "keep retain", "store save",
    "annual yearly", "rapid fast quick", "cost price", "job position", "reply answer respond",
    "pay payment", "close shut", "need require", "holiday vacation", "autumn fall",
    "lift elevator", "flat apartment", "rubbish garbage trash waste", "replace substitute",
    "approve authorize", "cancel annul", "hire recruit", "found establish", "invent devise",
    "locate situate", "lose misplace loss", "receive obtain", "supply provide deliver",
    "secure safe", "decide decision", "sell sale", "grow growth", "know knowledge", "speak speech",
    "fly flight", "die death", "bike bicycle", "math maths mathematics", "exam examination",
    "lab laboratory", "info information", "fridge refrigerator", "app application",
    "admin administrator", "advert advertisement", "gym gymnasium", "dad father", "mum mom mother",
    "prove proof", "noon midday 12", "midnight 0", "advise advice", "live life", "see sight",
)  # fmt: skip

SPOKEN_TIMES: Final[Mapping[str, tuple[tuple[str, int], ...]]] = {
    # {h} is an hour; minutes are added to it.
    "en": (
        (r"half past {h}", 30), (r"(?:a )?quarter past {h}", 15), (r"(?:a )?quarter to {h}", -15),
    ),
    "de": ((r"halb {h}", -30), (r"Viertel nach {h}", 15), (r"Viertel vor {h}", -15)),
    "nl": ((r"half {h}", -30), (r"kwart over {h}", 15), (r"kwart voor {h}", -15)),
    "fr": (
        (r"{h} heures? et demie", 30), (r"{h} heures? et quart", 15),
        (r"{h} heures? moins le quart", -15), (r"{h} heures?(?= du (?:soir|matin))", 0),
    ),
    "es": (
        (r"{h} y media", 30), (r"{h} y (?:cuarto|4º)", 15), (r"{h} menos (?:cuarto|4º)", -15),
        (r"las {h}(?= de la (?:tarde|noche|mañana))", 0),
    ),
    "it": (
        (r"{h} e mezz[ao]", 30), (r"{h} e un (?:quarto|4º)", 15),
        (r"{h} meno un (?:quarto|4º)", -15),
    ),
    "pt": ((r"{h} e meia", 30), (r"{h} e um (?:quarto|4º)", 15)),
}  # fmt: skip
"""Spoken times of day, once their hours are digits."""

AFTERNOON: Final = (
    r" (?:(?:in the|am|du|del?a?|da|di|del|de la|'s|in de) ?)?"
    r"(?:afternoon|evening|night|nachmittags?|abends?|soir|après-midi|tarde|noche|noite"
    r"|pomeriggio|sera|avonds?|middags?)\b"
)
"""Words that put the hour before them into the second half of the day."""


class Language(NamedTuple):
    """Small words of one language besides English; all of them without accents."""

    words: frozenset[str]
    """Grammar, by which the language is recognised and which is never counted."""
    negations: frozenset[str]
    soft: frozenset[str]
    """Words of permission and possibility, which a negation alone tells apart."""
    yes: frozenset[str]
    no: frozenset[str]
    months: tuple[str, ...]
    days: tuple[str, ...]
    """Of the week, from Monday."""
    minus: str
    exclusive: tuple[str, ...]
    """As ``EXCLUSIVE``."""
    letters: str
    """Letters and marks that none of the others writes."""


def _language(
    words: str, negations: str, soft: str, polar: str, months: str, days: str, minus: str,
    exclusive: str, letters: str = "",
) -> Language:  # fmt: skip
    yes, no = (frozenset(side.split()) for side in polar.split("/"))
    return Language(
        frozenset(words.split()), frozenset(negations.split()), frozenset(soft.split()), yes, no,
        tuple(months.split()), tuple(days.split()), minus, tuple(exclusive.split(", ")), letters,
    )  # fmt: skip


LANGUAGES: Final[Mapping[str, Language]] = {
    "de": _language(
        "der die das den dem des ein eine einen einem einer eines und oder ist sind war waren wird "
        "werden wurde wurden im in am an auf aus bei mit nach von vom zu zum zur fur uber unter er "
        "sie es wir ihr ich man sich auch als wie was wer wo wann welche welcher welches welchem "
        "welchen deren dessen dass kann "
        "konnen wenn falls sofern muss mussen darf durfen hat haben noch so nur um durch bis ab "
        "pro je ja nein nicht "
        "kein keine keinen keinem keiner nie ohne weder noch",
        "nicht kein keine keinen keinem keiner nie niemals ohne weder nein verboten untersagt",
        "erlaubt gestattet moglich zulassig zugelassen akzeptiert",
        "ja richtig wahr/nein falsch",
        "januar februar marz april mai juni juli august september oktober november dezember",
        "montag dienstag mittwoch donnerstag freitag samstag sonntag", "minus",
        "vor nach, vorher nachher, an aus, auf zu, steigt sinkt fallt, steigen sinken fallen, "
        "pflicht freiwillig, gross klein, lang kurz, offen geschlossen, links rechts, oben unten, "
        "innen aussen, mehr weniger, alle keine, morgens abends nachts mittags, kalt warm, "
        "gewinn verlust, rot blau grun gelb schwarz weiss grau, mindestens hochstens", "äöüß",
    ),
    "fr": _language(
        "le la les l un une des du de d au aux et ou est sont etait etaient sera a ont en dans sur "
        "sous par pour avec que qui quoi quel quelle quels quelles ce cet cette ces il elle ils "
        "elles on se s son sa ses leur nous vous je j y ne n pas plus qu c comment quand combien "
        "ainsi aussi tres peut pouvez peuvent doit doivent si faut oui non sans ni jamais aucun "
        "aucune",
        "pas jamais aucun aucune sans ni non interdit interdite defendu",
        "autorise autorisee permis permise possible accepte acceptee",
        "oui vrai/non faux",
        "janvier fevrier mars avril mai juin juillet aout septembre octobre novembre decembre",
        "lundi mardi mercredi jeudi vendredi samedi dimanche", "moins",
        "avant apres, ouvert ferme, ouverte fermee, grand petit, monte baisse, gauche droite, "
        "obligatoire facultatif, obligatoire facultative, premier dernier, matin soir nuit, "
        "superieur inferieur, rouge bleu vert jaune noir blanc gris, plus moins", "œêî",
    ),
    "es": _language(
        "el la los las un una unos unas de del al y o es son fue fueron era ser esta estan en con "
        "por para que quien cual cuando donde como cuanto se su sus le les lo este esta ese a ha "
        "han hay puede pueden debe mas muy tambien si no sin ni nunca ningun ninguna tiene",
        "no sin ni nunca jamas ningun ninguna tampoco prohibido prohibida",
        "permitido permitida posible autorizado aceptado aceptada",
        "si verdadero/no falso",
        "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
        "lunes martes miercoles jueves viernes sabado domingo", "menos",
        "antes despues, abierto cerrado, abierta cerrada, grande pequeno, sube baja, "
        "izquierda derecha, obligatorio opcional voluntario, primero ultimo, manana tarde noche, "
        "superior inferior, rojo azul verde amarillo negro blanco gris, encendido apagado", "¿¡ñ",
    ),
    "it": _language(
        "il lo la i gli le un uno una di del della dei delle al alla e o ed sono era fu in nel "
        "nella con per da dal dalla che chi quale quando dove come quanto si suo sua a ha hanno "
        "puo possono deve piu anche non senza ne mai nessun nessuna questo questa viene",
        "non senza mai nessun nessuna nessuno no vietato vietata proibito",
        "permesso permessa consentito consentita possibile accettato",
        "si vero/no falso",
        "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre "
        "dicembre",
        "lunedi martedi mercoledi giovedi venerdi sabato domenica", "meno",
        "prima dopo, aperto chiuso, aperta chiusa, grande piccolo, sale scende, sinistra destra, "
        "obbligatorio facoltativo, obbligatoria facoltativa, mattina sera notte, "
        "superiore inferiore, rosso blu verde giallo nero bianco grigio, acceso spento", "òì",
    ),
    "pt": _language(
        "o a os as um uma de do da dos das no na nos nas e ou sao foi era ser esta em com por para "
        "que quem qual quando onde como quanto se seu sua ao pelo pela tem ha pode podem deve mais "
        "tambem sim nao sem nem nunca nenhum nenhuma este esta feira",
        "nao sem nem nunca nenhum nenhuma proibido proibida",
        "permitido permitida possivel aceito aceite autorizado",
        "sim verdadeiro/nao falso",
        "janeiro fevereiro marco abril maio junho julho agosto setembro outubro novembro dezembro",
        "segunda terca quarta quinta sexta sabado domingo", "menos",
        "antes depois, aberto fechado, aberta fechada, grande pequeno, sobe desce, "
        "esquerda direita, obrigatorio opcional facultativo, manha tarde noite, "
        "superior inferior, vermelho azul verde amarelo preto branco cinza, ligado desligado", "ãõ",
    ),
    "nl": _language(
        "de het een en of is zijn was waren wordt worden werd in op aan uit bij met naar van voor "
        "te tot om door over hij zij ze wij ik je u men zich ook als wat wie waar wanneer welke "
        "hoe dat die dit deze kan kunnen moet moeten mag heeft hebben er nog maar ja nee niet geen "
        "nooit zonder noch",
        "niet geen nooit zonder noch nee verboden",
        "toegestaan mogelijk geaccepteerd",
        "ja waar/nee onwaar",
        "januari februari maart april mei juni juli augustus september oktober november december",
        "maandag dinsdag woensdag donderdag vrijdag zaterdag zondag", "min",
        "voor na, open gesloten, aan uit, groot klein, stijgt daalt, links rechts, "
        "verplicht vrijwillig optioneel, ochtend avond nacht, hoger lager, "
        "rood blauw groen geel zwart wit grijs, minstens hoogstens",
    ),
}  # fmt: skip
