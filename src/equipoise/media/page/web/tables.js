// Tables that are sorted by any column. Where columns can be chosen, they and the rows are filtered; another choice is another page.
(function () {
  function value(row, column) {
    const raw = row.cells[column] ? row.cells[column].dataset.value : "";
    if (raw === "") return null;
    return Number.isNaN(Number(raw)) ? raw : Number(raw);
  }
  function sort(table, column, up) {
    const body = table.tBodies[0];
    const rows = Array.from(body.rows).map(function (row, place) { return { row: row, place: place, key: value(row, column) }; });
    rows.sort(function (a, b) {
      // Cells without a value come last, whichever way the column is sorted.
      if (a.key === null || b.key === null) return (a.key === null) - (b.key === null) || a.place - b.place;
      const order = a.key < b.key ? -1 : a.key > b.key ? 1 : 0;
      return (up ? order : -order) || a.place - b.place;
    });
    rows.forEach(function (entry) { body.append(entry.row); });
    Array.from(table.tHead.rows[0].cells).forEach(function (head, number) {
      if (number === column) head.setAttribute("aria-sort", up ? "ascending" : "descending");
      else head.removeAttribute("aria-sort");
    });
  }
  function counted(number, noun) { return number + " " + noun + (number === 1 ? "" : "s"); }
  for (const table of document.querySelectorAll("table[data-sortable]")) {
    Array.from(table.tHead.rows[0].cells).forEach(function (head, column) {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "sort";
      button.setAttribute("aria-label", "sort by " + head.textContent.trim());
      button.addEventListener("click", function () { sort(table, column, head.getAttribute("aria-sort") !== "ascending"); });
      head.append(" ", button);
    });
    const count = table.parentNode.previousElementSibling;
    if (!count || count.dataset.count === undefined) continue;
    const controls = count.previousElementSibling;
    controls.hidden = false;
    const filters = Array.from(controls.querySelectorAll("[data-filter]"));
    const search = controls.querySelector("[data-search]");
    const heads = Array.from(table.tHead.rows[0].cells);
    const filter = function () {
      const hidden = heads.map(function (head) {
        return filters.some(function (chosen) {
          const value = head.dataset[chosen.dataset.filter];
          return value !== undefined && chosen.value !== "" && value !== chosen.value;
        });
      });
      const wanted = search.value.trim().toLowerCase();
      let rows = 0;
      for (const row of table.rows) {
        Array.from(row.cells).forEach(function (cell, column) { cell.hidden = hidden[column]; });
        if (row.parentNode === table.tHead) continue;
        row.hidden = !row.cells[0].textContent.toLowerCase().includes(wanted);
        rows += !row.hidden;
      }
      const columns = heads.filter(function (head, column) { return Object.keys(head.dataset).length && !hidden[column]; }).length;
      count.textContent = counted(rows, heads[0].textContent.trim()) + ", " + counted(columns, "column");
    };
    filters.forEach(function (chosen) { chosen.addEventListener("change", filter); });
    search.addEventListener("input", filter);
    for (const chosen of controls.querySelectorAll("[data-go]")) {
      chosen.addEventListener("change", function () { location.href = chosen.value; });
    }
    filter();
  }
  document.documentElement.dataset.tables = "ready";
})();
