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
  // The number of a heatmap's cell that is pointed at or touched, in the line under it.
  for (const map of document.querySelectorAll("svg.heat")) {
    const readout = map.closest("details").querySelector(".readout");
    const [left, top, size] = map.dataset.cell.split(" ").map(Number);
    const rows = map.dataset.rows.split("\n"), columns = map.dataset.columns.split("\n");
    const values = map.dataset.values.split(";").map(function (row) { return row.split(" "); });
    const show = function (event) {
      const box = map.getBoundingClientRect(), unit = map.viewBox.baseVal.width / box.width;
      const row = Math.floor(((event.clientY - box.top) * unit - top) / size);
      const column = Math.floor(((event.clientX - box.left) * unit - left) / size);
      if (!(row in rows && column in columns)) return;
      const value = values[row][column];
      readout.textContent = rows[row] + " " + columns[column] + ": " + (value === "" ? "not asked" : (value / 1000).toFixed(3));
    };
    map.addEventListener("pointermove", show);
    map.addEventListener("pointerdown", show);
  }
})();
