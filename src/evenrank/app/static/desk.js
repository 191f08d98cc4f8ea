// Small helps on top of pages that work without script: trouble is said, buttons show that they work, menus close, links
// are copied.
(function () {
  "use strict";
  var trouble = document.getElementById("trouble");

  function say(text) {
    trouble.textContent = text;
    trouble.hidden = !text;
  }

  function explain(event) {
    var config = event.detail.requestConfig, texts = document.body.dataset;
    if (config && /(preview|goal)$/.test(config.path)) { say(texts.stale); return; }
    say(event.detail.xhr.status === 0 ? texts.offline : texts.failed);
  }
  document.addEventListener("htmx:sendError", explain);
  document.addEventListener("htmx:responseError", explain);
  document.addEventListener("htmx:afterRequest", function (event) { if (event.detail.successful) { say(""); } });

  document.addEventListener("submit", function (event) {
    var form = event.target, button = event.submitter;
    if (!form.dataset.busy || !button || form.hasAttribute("hx-post")) { return; }
    button.dataset.label = button.textContent;
    window.setTimeout(function () { button.disabled = true; button.textContent = form.dataset.busy; }, 0);
  });
  window.addEventListener("pageshow", function (event) {
    var title = document.getElementById("title");  // a form that the browser filled again has no preview yet
    if (!event.persisted && title && title.value !== title.defaultValue) { title.dispatchEvent(new Event("input", { bubbles: true })); }
    document.querySelectorAll("button[data-label]").forEach(function (button) {
      button.disabled = false;
      button.textContent = button.dataset.label;
      delete button.dataset.label;
    });
  });

  var MENUS = "details.exports[open], details.drawer[open], details.row-menu[open]";
  function closeMenus(kept) {
    document.querySelectorAll(MENUS).forEach(function (menu) {
      if (menu !== kept) { menu.open = false; }
    });
  }
  document.addEventListener("click", function (event) { closeMenus(event.target.closest(MENUS)); });
  document.addEventListener("keydown", function (event) {
    var menu = event.key === "Escape" && document.querySelector(MENUS);
    if (menu) { menu.open = false; menu.querySelector("summary").focus(); }
  });

  document.querySelectorAll("button[data-copy]").forEach(function (button) {
    if (!navigator.clipboard) { return; }
    button.hidden = false;
    button.addEventListener("click", function () {
      navigator.clipboard.writeText(document.getElementById(button.dataset.copy).value).then(function () {
        button.textContent = document.body.dataset.copied;
      });
    });
  });
  // Rows of articles: Tab reaches one row, the arrow keys the others.
  function itemsOf(row) {
    return Array.prototype.filter.call(row.querySelectorAll("a[href], button, summary"), function (item) {
      return item.checkVisibility ? item.checkVisibility() : item.getClientRects().length > 0;
    });
  }
  function letOneRowBeReached(table, current) {
    table.querySelectorAll("tbody tr").forEach(function (row) {
      row.querySelectorAll("a[href], button, summary").forEach(function (item) { item.tabIndex = row === current ? 0 : -1; });
    });
    table.currentRow = current;
  }
  document.querySelectorAll("table[data-rows]").forEach(function (table) {
    var isMirrored = document.documentElement.dir === "rtl";
    letOneRowBeReached(table, document.querySelector("tbody tr:target") || table.querySelector("tbody tr"));
    table.addEventListener("focusin", function (event) {
      var row = event.target.closest("tbody tr");
      if (row && row !== table.currentRow) { letOneRowBeReached(table, row); }
    });
    table.addEventListener("keydown", function (event) {
      var row = event.target.closest("tbody tr"), items = row && itemsOf(row), at = items ? items.indexOf(event.target) : -1;
      if (at < 0 || event.altKey || event.ctrlKey || event.metaKey) { return; }
      var forward = isMirrored ? "ArrowLeft" : "ArrowRight", back = isMirrored ? "ArrowRight" : "ArrowLeft", next = null;
      var rows = row.parentNode.rows, other = { ArrowDown: row.nextElementSibling, ArrowUp: row.previousElementSibling, Home: rows[0], End: rows[rows.length - 1] }[event.key];
      if (event.key === forward) { next = items[at + 1]; }
      if (event.key === back) { next = items[at - 1]; }
      if (other) {
        closeMenus(null);
        items = itemsOf(other);
        next = items[Math.min(at, items.length - 1)];
      }
      if (next) { event.preventDefault(); letOneRowBeReached(table, next.closest("tr")); next.focus(); }
    });
  });
  document.addEventListener("htmx:load", function (event) {
    var mark = event.detail.elt, row = mark.closest && mark.closest("table[data-rows] tbody tr");
    if (!row || !mark.dataset.said) { return; }
    letOneRowBeReached(row.closest("table"), row);
    closeMenus(null);
    document.getElementById("said").textContent = mark.dataset.said + ": " + row.querySelector(".title").textContent;
    var first = itemsOf(mark)[0];
    if (first && document.activeElement === document.body) { first.focus(); }
  });
}());
