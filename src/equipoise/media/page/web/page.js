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
  // The number of a heatmap's cell that is pointed at, touched or walked to, in the line under it.
  for (const map of document.querySelectorAll("svg.heat")) {
    const around = map.closest(".map"), readout = around.querySelector(".readout");
    const [left, top, wide, tall] = map.dataset.cell.split(" ").map(Number);
    const rows = map.dataset.rows.split("\n"), columns = map.dataset.columns.split("\n");
    const values = map.dataset.values.split(";").map(function (row) { return row.split(" "); });
    const number = function (row, column) {
      const value = values[row][column];
      return value === "" ? "not asked" : (value / 1000).toFixed(3);
    };
    const tell = function (row, column) {
      if (!(row in rows && column in columns)) return;
      readout.textContent = rows[row] + " " + columns[column] + ": " + number(row, column);
    };
    const show = function (event) {
      const box = map.getBoundingClientRect(), unit = map.viewBox.baseVal.width / box.width;
      tell(Math.floor(((event.clientY - box.top) * unit - top) / tall), Math.floor(((event.clientX - box.left) * unit - left) / wide));
    };
    map.addEventListener("pointermove", show);
    map.addEventListener("pointerdown", show);
    // With the keyboard: arrows walk from cell to cell, and a frame shows where one is.
    let at = [0, 0];
    const frame = document.createElementNS("http://www.w3.org/2000/svg", "rect");
    frame.setAttribute("class", "cursor");
    frame.setAttribute("width", wide); frame.setAttribute("height", tall);
    const go = function (row, column) {
      at = [Math.min(Math.max(row, 0), rows.length - 1), Math.min(Math.max(column, 0), columns.length - 1)];
      frame.setAttribute("x", left + at[1] * wide); frame.setAttribute("y", top + at[0] * tall);
      map.append(frame);
      tell(at[0], at[1]);
    };
    map.setAttribute("tabindex", "0");
    map.addEventListener("focus", function () { go(at[0], at[1]); });
    map.addEventListener("blur", function () { frame.remove(); });
    map.addEventListener("keydown", function (event) {
      const move = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
      if (!move) return;
      event.preventDefault();
      go(at[0] + move[0], at[1] + move[1]);
    });
    // The table of a heatmap has thousands of cells: it is made when it is asked for.
    const place = around.querySelector(".heat-values");
    place.closest("details").addEventListener("toggle", function () {
      if (place.firstChild) return;
      const table = document.createElement("table");
      const add = function (line, name, text) { const cell = document.createElement(name); cell.textContent = text; line.append(cell); return cell; };
      const head = table.createTHead().insertRow();
      for (const column of [map.dataset.names, ...columns]) add(head, "th", column).scope = "col";
      const body = table.createTBody();
      rows.forEach(function (name, row) {
        const line = body.insertRow();
        add(line, "th", name).scope = "row";
        columns.forEach(function (_, column) { add(line, "td", number(row, column)); });
      });
      place.append(table);
    });
  }
  // A link of the viewer to a question takes the case with it that is open.
  for (const link of document.querySelectorAll("a[data-case-link]")) {
    link.addEventListener("click", function () {
      const open = location.hash.startsWith("#case=") ? "&case=" + encodeURIComponent(location.hash.slice(6)) : "";
      link.href = link.dataset.caseLink + open;
    });
  }
})();
