# ruff: noqa: RUF001 - letters of Greek and Cyrillic
"""The names of months in 26 languages and of days of the week in ten, with their accents or without.

No name of one month is the name of another month in another of these languages, so nobody needs to state the language.
Croatian is not among them: its `lis` is October, and that of Polish and of Czech is November.
"""

from collections.abc import Iterable
from unicodedata import combining, normalize

_MONTHS = {
    "Jan": "january januari januar janvier enero gennaio janeiro jänner jän jan janv ene gen",
    "Feb": "february februari februar février febrero febbraio fevereiro feber feb fév févr fev",
    "Mar": "march maart märz maerz mars marts marzo março mar mär mrz mrt",
    "Apr": "april avril abril aprile apr avr abr",
    "May": "may mei mai maj mayo maggio maio mag",
    "Jun": "june juni juin junio giugno junho jun giu",
    "Jul": "july juli juillet julio luglio julho jul juil lug",
    "Aug": "august augustus augusti août agosto aug ago",
    "Sep": "september septembre septiembre setiembre settembre setembro sep sept set sett",
    "Oct": "october oktober octobre octubre ottobre outubro oct okt ott out",
    "Nov": "november novembre noviembre novembro nov",
    "Dec": "december dezember décembre diciembre dicembre dezembro desember dec dez déc dic des",
}
# The same of Polish, Czech, Slovak, Slovenian, Hungarian, Romanian, Bulgarian, Greek, Finnish, Estonian, Latvian,
# Lithuanian, Turkish, Russian, Ukrainian and Indonesian, from January to December.
_OTHER_MONTHS = """
stycznia sty styczeń ledna led leden januára január ianuarie ian януари яну ιανουαρίου ιαν ιανουάριος tammikuuta tammi
tammikuu jaanuar jaan janvāris sausio saus sausis ocak oca января янв январь січня січ січень / lutego lut luty února
úno únor februára február febr februarie февруари фев φεβρουαρίου φεβ φεβρουάριος helmikuuta helmi helmikuu veebruar
veebr februāris vasario vas vasaris şubat şub февраля февр февраль лютого лют лютий / marca marzec března bře březen
marec március márc martie март μαρτίου μαρ μάρτιος μάρ maaliskuuta maalis maaliskuu märts kovo kov kovas mart марта мар
березня бер березень maret / kwietnia kwi kwiecień dubna dub duben apríla apríl április ápr aprilie април апр απριλίου
απρ απρίλιος huhtikuuta huhti huhtikuu aprill aprīlis balandžio bal balandis nisan nis апреля апрель квітня квіт квітень
nİsan / maja května kvě květen mája máj május май μαΐου μαΐ μάιος μάι toukokuuta touko toukokuu maijs gegužės geg gegužė
mayıs мая травня трав травень mayis / czerwca cze czerwiec června čvn červen júna jún junij június iunie iun юни ιουνίου
ιουν ιούνιος ιούν kesäkuuta kesä kesäkuu juuni jūnijs jūn birželio birž birželis haziran haz июня июн июнь червня черв
червень hazİran / lipca lip lipiec července čvc červenec júla júl julij július iulie iul юли ιουλίου ιουλ ιούλιος ιούλ
heinäkuuta heinä heinäkuu juuli jūlijs jūl liepos liep liepa temmuz tem июля июл июль липня лип липень / sierpnia sie
sierpień srpna srp srpen augusta avgust avg augusztus август авг αυγούστου αυγ αύγουστος αύγ elokuuta elo elokuu augusts
rugpjūčio rugp rugpjūtis ağustos ağu августа серпня серп серпень agustus / września wrz wrzesień září zář septembra
szeptember szept septembrie септември сеп σεπτεμβρίου σεπ σεπτέμβριος syyskuuta syys syyskuu septembris rugsėjo rugs
rugsėjis eylül eyl сентября сент сентябрь вересня вер вересень / października paź październik října říj říjen októbra
október octombrie октомври окт οκτωβρίου οκτ οκτώβριος lokakuuta loka lokakuu oktoober oktobris spalio spal spalis ekim
eki октября октябрь жовтня жовт жовтень ekİm / listopada lis listopad listopadu novembra noiembrie ноември ное νοεμβρίου
νοε νοέμβριος νοέ marraskuuta marras marraskuu novembris lapkričio lapkr lapkritis kasım kas ноября нояб ноябрь
листопада лист листопад kasim / grudnia gru grudzień prosince pro prosinec decembra decembrie декември дек δεκεμβρίου
δεκ δεκέμβριος joulukuuta joulu joulukuu detsember dets decembris gruodžio gruod gruodis aralık ara декабря декабрь
грудня груд грудень aralik
"""
_CUT_MONTHS = "janv févr juil sept sett maalis marras"  # with more than three letters
_FULL_MONTHS = "may mei mai maj máj май мая"  # with three
_LONGEST_CUT = 5  # letters of a month that is written in full where others are cut, such as April
_DAYS = (
    "monday tuesday wednesday thursday friday saturday sunday montag dienstag mittwoch donnerstag freitag samstag "
    "sonnabend sonntag lundi mardi mercredi jeudi vendredi samedi dimanche lunes martes miércoles jueves viernes "
    "sábado domingo lunedì martedì mercoledì giovedì venerdì sabato domenica segunda-feira terça-feira quarta-feira "
    "quinta-feira sexta-feira segunda terça quarta quinta sexta maandag dinsdag woensdag donderdag vrijdag zaterdag "
    "zondag måndag tisdag onsdag torsdag fredag lördag söndag mandag tirsdag lørdag søndag"
)
_CUT_DAYS = (
    "mon tue wed thu fri sat sun mo di mi do fr sa so lun mar mer jeu ven sam dim mié jue vie sáb dom gio sab seg ter "
    "qua qui sex ma wo vr za zo mån tis ons tors fre lör sön man tirs tir tor lør søn"
)


def _spellings(names: str) -> set[str]:
    """Return names in all spellings of accents: composed letters, separate characters, and none."""
    decomposed = normalize("NFD", names)
    plain = "".join(letter for letter in decomposed if not combining(letter))
    spellings = f"{names} {decomposed} {plain}"
    return {*spellings.split(), *spellings.replace("ς", "σ").split()}  # as capital letters become small ones


def _names_pattern(names: Iterable[str]) -> str:
    """Return the regular expression that matches names in any case, with or without a point."""
    rests: dict[str, list[str]] = {}  # by their first letters, as it is tried faster than one long list
    for name in sorted(names, key=lambda name: (-len(name), name)):
        rests.setdefault(name[0], []).append(name[1:])
    listed = "|".join(f"{first}({'|'.join(rest)})" for first, rest in rests.items())
    return f"(?i:{listed})[.]?"


_NAMES = dict(zip(_MONTHS, _OTHER_MONTHS.split("/"), strict=True))
MONTHS = {
    spelling: month for month, names in _MONTHS.items() for spelling in sorted(_spellings(f"{names} {_NAMES[month]}"))
}
"""The first letters of the English name of each month, by all its names in small letters."""
CROATIAN_MONTHS = frozenset(("lip", "lis", "listopad", "listopada", "srp"))
"""Names of months in other languages that are names of other months in Croatian."""
_CUT = _spellings(_CUT_MONTHS)
_SHORT_MONTHS = {name for name in MONTHS if len(normalize("NFC", name)) <= _LONGEST_CUT or name in _CUT}
_LONG_MONTHS = {name for name in MONTHS if len(normalize("NFC", name)) > len("jan") and name not in _CUT}

MONTH, SHORT_MONTH, FULL_MONTH = map(_names_pattern, (MONTHS, _SHORT_MONTHS, _LONG_MONTHS | _spellings(_FULL_MONTHS)))
WESTERN_MONTHS = _spellings(" ".join(_MONTHS.values()))
"""The names in the first ten languages, of which few are other words."""
WESTERN_MONTH = _names_pattern(WESTERN_MONTHS)
SHORT_DAY, FULL_DAY = map(_names_pattern, (_spellings(_CUT_DAYS), _spellings(_DAYS)))
DAY = f"({FULL_DAY}|{SHORT_DAY})"
HALF_DAY = "[AaPp][.]?[ \u00a0\u202f]?[Mm][.]?"
"""The regular expression of am and pm, as in `p.m.` and `P. M.`."""
ZONE = "(Z|(GMT|UTC)?[+-]([0-9]{2}(:?[0-9]{2})?|[0-9](:[0-9]{2})?)|GMT|UTC)"
"""The regular expression of a zone by its distance from UTC, as in `+01:00` and `GMT+1`."""
ORDINAL = "(st|nd|rd|th|er|[\u00ba\u00b0])?"
"""The regular expression of what may stand behind the number of a day beside the name of a month."""
