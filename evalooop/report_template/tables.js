"use strict";
// Tables that are sorted by a click on a column's head, and filtered by what is typed above them.
(() => {
  // A cell's value is what its data-value says, else its text; numbers are compared as numbers, what is empty goes last.
  function valueOf(cell) {
    const text = (cell.dataset.value ?? cell.textContent).trim();
    if (["", "–", "None"].includes(text)) return null;
    const number = Number(text.replace(/,/g, ""));
    return Number.isNaN(number) ? text.toLowerCase() : number;
  }

  function compare(a, b) {
    if (typeof a === "number" && typeof b === "number") return a - b;
    return String(a).localeCompare(String(b), undefined, { numeric: true });
  }

  function sort(table, column, ascending) {
    const body = table.tBodies[0];
    const rows = [...body.rows].map((row) => [valueOf(row.cells[column]), row]);
    rows.sort(([a], [b]) => {
      if (a === null || b === null) return (a === null) - (b === null);
      return ascending ? compare(a, b) : compare(b, a);
    });
    body.append(...rows.map(([, row]) => row));
  }

  function makeSortable(table) {
    const heads = [...table.tHead.rows[table.tHead.rows.length - 1].cells];
    for (const [column, head] of heads.entries()) {
      if (!head.textContent.trim()) continue; // a drawing of the column beside it
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const before = head.getAttribute("aria-sort");
        const ascending = before ? before === "descending" : head.dataset.first === "up";
        for (const other of heads) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", ascending ? "ascending" : "descending");
        sort(table, column, ascending);
      });
    }
  }

  function makeFilter(form) {
    const rows = [...document.getElementById(form.dataset.table).tBodies[0].rows];
    const input = form.querySelector("input");
    const output = form.querySelector("output");
    const apply = () => {
      const sought = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      let count = 0;
      for (const row of rows) {
        const text = row.dataset.find.toLowerCase();
        row.hidden = !sought.every((word) => text.includes(word));
        count += !row.hidden;
      }
      output.textContent = `${count} of ${rows.length}`;
    };
    form.hidden = false;
    form.addEventListener("submit", (event) => event.preventDefault());
    input.addEventListener("input", apply);
    apply();
  }

  document.querySelectorAll("table.sortable").forEach(makeSortable);
  document.querySelectorAll("form.filter").forEach(makeFilter);
})();
