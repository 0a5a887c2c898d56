// Order of the results of a search: a page or heading with the name of the query, then texts, then members of Python.
const words = (new URLSearchParams(location.search).get("q") || "").trim().toLowerCase();

var Scorer = {
  score: ([page, , , , score, , kind]) => {
    if (kind === "title") return 3 * score;
    if (kind === "object") return score / 4;
    return words && page.split("/").pop().startsWith(words) ? score + 30 : score;
  },
  // The values of Sphinx, of which a scorer must state all.
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
