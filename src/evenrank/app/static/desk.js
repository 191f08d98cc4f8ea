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
  window.addEventListener("pageshow", function () {
    document.querySelectorAll("button[data-label]").forEach(function (button) {
      button.disabled = false;
      button.textContent = button.dataset.label;
      delete button.dataset.label;
    });
  });

  function closeMenus(kept) {
    document.querySelectorAll("details.exports[open]").forEach(function (menu) {
      if (menu !== kept) { menu.open = false; }
    });
  }
  document.addEventListener("click", function (event) { closeMenus(event.target.closest("details.exports")); });
  document.addEventListener("keydown", function (event) {
    var menu = event.key === "Escape" && document.querySelector("details.exports[open]");
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
}());
