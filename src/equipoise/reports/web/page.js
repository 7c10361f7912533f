"use strict";
// The theme: as the system has it until the reader chooses; the choice is kept where the browser allows it.
(function () {
  const root = document.documentElement;
  const button = document.getElementById("theme");
  const key = "equipoise-theme";
  try {
    const kept = localStorage.getItem(key);
    if (kept === "light" || kept === "dark") root.dataset.theme = kept;
  } catch (error) { /* a page opened from a file may have no storage */ }
  button.addEventListener("click", function () {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    try { localStorage.setItem(key, root.dataset.theme); } catch (error) { /* as above */ }
  });
  // What is folded on the screen is not folded on paper.
  addEventListener("beforeprint", function () {
    for (const folded of document.querySelectorAll("details:not([open])")) { folded.open = true; folded.dataset.folded = ""; }
  });
  addEventListener("afterprint", function () {
    for (const folded of document.querySelectorAll("details[data-folded]")) { folded.open = false; delete folded.dataset.folded; }
  });
})();
