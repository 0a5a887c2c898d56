"""The names of months and of days of the week in ten languages of Europe, with their accents or without.

No name of one month is the name of another month in another language, so nobody needs to state the language.
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
_CUT_MONTHS = "janv févr juil sept sett"  # with more than three letters
_FULL_MONTHS = "may mei mai maj"  # with three
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
    """Return names with accents as parts of letters and as characters of their own, and without accents."""
    decomposed = normalize("NFD", names)
    plain = "".join(letter for letter in decomposed if not combining(letter))
    return {*f"{names} {decomposed} {plain}".split()}


def _pattern(names: Iterable[str]) -> str:
    """Return the regular expression of names in whatever case, with a point or without."""
    return f"(?i:{'|'.join(sorted(names, key=lambda name: (-len(name), name)))})[.]?"


MONTHS = {spelling: month for month, names in _MONTHS.items() for spelling in sorted(_spellings(names))}
"""The first letters of the English name of each month, by all its names in small letters."""
_SHORT_MONTHS = {name for name in MONTHS if len(normalize("NFC", name)) <= _LONGEST_CUT}
_CUT = _spellings(_CUT_MONTHS)
_LONG_MONTHS = {name for name in MONTHS if len(normalize("NFC", name)) > len("jan") and name not in _CUT}

MONTH, SHORT_MONTH, FULL_MONTH = map(_pattern, (MONTHS, _SHORT_MONTHS, {*_LONG_MONTHS, *_FULL_MONTHS.split()}))
SHORT_DAY, FULL_DAY = map(_pattern, (_spellings(_CUT_DAYS), _spellings(_DAYS)))
DAY = f"({FULL_DAY}|{SHORT_DAY})"
HALF_DAY = "[AaPp][.]?[ \u00a0\u202f]?[Mm][.]?"
"""The regular expression of am and pm, as in `p.m.` and `P. M.`."""
ZONE = "(Z|(GMT|UTC)?[+-]([0-9]{2}(:?[0-9]{2})?|[0-9](:[0-9]{2})?)|GMT|UTC)"
"""The regular expression of a zone by its distance from UTC, as in `+01:00` and `GMT+1`."""
ORDINAL = "(st|nd|rd|th|er|[\u00ba\u00b0])?"
"""The regular expression of what may stand behind the number of a day beside the name of a month."""
