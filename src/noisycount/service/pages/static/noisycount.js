"use strict";
// Everything works without this script: it only spares replies of the server.

/** A row of the builder is made from the template of its column. */
function addRow(button) {
  const list = document.getElementById(button.dataset.adds);
  const choice = document.getElementById(button.dataset.chosen);
  const made = document.getElementById(`${list.id}-${choice.selectedIndex}`);
  if (!made) return false;
  const row = made.content.firstElementChild.cloneNode(true);
  list.append(row);
  renumber(list);
  fit(row);
  row.querySelector("select, input:not([type=hidden])").focus();
  return true;
}

/** Identifiers and the numbers of the buttons follow the order of the rows. */
function renumber(list) {
  [...list.children].forEach((row, place) => {
    for (const part of row.querySelectorAll("[id]")) part.id = part.id.replace(/\d+$/, place);
    for (const part of row.querySelectorAll("[for]")) part.htmlFor = part.htmlFor.replace(/\d+$/, place);
    row.querySelector("button.remove").value = place;
  });
}

/** Only the fields that a row's operator needs are shown. */
function fit(row) {
  const operator = row.querySelector("select[data-values]");
  if (!operator) return;
  const needed = Number(operator.selectedOptions[0].dataset.needs);
  row.querySelectorAll("[data-value]").forEach((part, place) => { part.hidden = place >= needed; });
}

function removeRow(button) {
  const list = button.closest("ul");
  const next = button.closest("li").nextElementSibling ?? button.closest("li").previousElementSibling;
  button.closest("li").remove();
  renumber(list);
  (next?.querySelector("select, input:not([type=hidden])") ?? document.getElementById(list.dataset.chosen)).focus();
}

async function copy(button) {
  const words = button.firstChild;
  await navigator.clipboard.writeText(button.closest("figure").querySelector("code").textContent);
  words.textContent = "Copied";
  setTimeout(() => { words.textContent = "Copy"; }, 2000);
}

/** A slider fills its box; what is typed into a box moves its slider next to it. */
function slide(slider, box) {
  const stops = slider.dataset.stops.split(" ");
  if (slider === document.activeElement) box.value = stops[slider.value];
  else {
    const apart = stops.map((stop) => Math.abs(stop - box.value));
    slider.value = apart.indexOf(Math.min(...apart));
  }
  slider.setAttribute("aria-valuetext", `${box.value} ${box.dataset.unit}`);
}

/** A refusal stands above the box that it names first, or above all; without words it goes. */
function refuse(form, words) {
  const above = document.getElementById("refusal");
  form.querySelector(".wrong")?.remove();
  for (const box of form.querySelectorAll("[aria-invalid]")) {
    box.removeAttribute("aria-invalid");
    box.setAttribute("aria-describedby", `${box.id}-hint`);
  }
  const box = form.elements.namedItem(words.split(" ")[0]);
  above.hidden = !words || Boolean(box);
  if (!above.hidden) above.firstElementChild.textContent = words;
  if (!box) return;
  const told = Object.assign(document.createElement("p"), { className: "wrong", id: `${box.id}-wrong`, role: "alert", textContent: words });
  box.closest(".field").querySelector(".slide-both").before(told);
  box.setAttribute("aria-invalid", "true");
  box.setAttribute("aria-describedby", `${told.id} ${box.id}-hint`);
}

/** The charts that a form draws follow it one after another; the address keeps what it says. */
let drawing = new AbortController();
async function redraw(form) {
  drawing.abort();
  const { signal } = drawing = new AbortController();
  const said = new URLSearchParams([...new FormData(form)].filter(([name]) => name !== "from" && !name.endsWith("-slider")));
  const charts = [...document.querySelectorAll("[data-chart]")];
  let refusal = "";
  for (const chart of charts) chart.setAttribute("aria-busy", "true");
  try {
    for (const chart of charts) {
      const reply = await fetch(`${form.dataset.live}?chart=${chart.dataset.chart}&${said}`, { signal });
      if (!reply.ok) { refusal = (await reply.json()).detail; break; }
      const isOpen = chart.querySelector("details")?.open;
      chart.innerHTML = await reply.text();
      chart.hidden = false;
      if (isOpen) chart.querySelector("details").open = true;
      chart.removeAttribute("aria-busy");
    }
    refuse(form, refusal);
    if (!refusal) {
      history.replaceState(null, "", `${form.action}?${said}`);
      form.elements.namedItem("from").value = said;
      document.getElementById("drawn").textContent = "All charts are drawn.";
    }
    for (const chart of charts) chart.removeAttribute("aria-busy");
  } catch (error) {
    if (error.name === "AbortError") return;
    refuse(form, "The service does not answer: try again.");
  }
}

let later;
document.addEventListener("input", (event) => {
  const form = event.target.form;
  if (!form?.dataset.live) return;
  const slider = event.target.dataset.box ? event.target : document.getElementById(`${event.target.id}-slider`);
  if (slider) slide(slider, document.getElementById(slider.dataset.box));
  document.getElementById("drawn").textContent = "";
  clearTimeout(later);
  later = setTimeout(redraw, 150, form);
});

document.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  if (button.matches(".add-row") && addRow(button)) event.preventDefault();
  else if (button.matches("button.remove")) { event.preventDefault(); removeRow(button); }
  else if (button.matches(".copy")) copy(button);
});

document.addEventListener("change", (event) => {
  const row = event.target.closest(".row");
  if (row) fit(row);
});

/** A form that was sent waits for its reply: a second click is none. */
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.dataset.sent) { event.preventDefault(); return; }
  form.dataset.sent = "yes";
  event.submitter?.setAttribute("aria-disabled", "true");
  for (const words of form.querySelectorAll("[data-waits]")) words.textContent = words.dataset.waits;
});
window.addEventListener("pageshow", () => {
  for (const form of document.forms) delete form.dataset.sent;
  for (const button of document.querySelectorAll("[aria-disabled]")) button.removeAttribute("aria-disabled");
});

for (const row of document.querySelectorAll(".row")) fit(row);
if (navigator.clipboard) for (const button of document.querySelectorAll(".copy")) button.hidden = false;
