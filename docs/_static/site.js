// A button that opens a section of the list of pages says which one.
document.addEventListener("DOMContentLoaded", () => {
  for (const button of document.querySelectorAll(".bd-sidebar summary")) {
    const section = button.closest("li").querySelector("a").textContent.trim();
    button.setAttribute("aria-label", `Pages below ${section}`);
  }
});
