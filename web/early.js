// early.js -- work that must not wait for the modules. It is not a module itself, and runs before the first paint.
(function () {
    // Apply the stored theme, so that the colours do not change after the first paint.
    let theme = null, key = null;
    try {
        theme = localStorage.getItem("cella.theme");
        key = sessionStorage.getItem("cella.key");
    } catch { /* storage is disabled: follow the system */ }
    if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
    // Request the current user while the modules are loaded; identify() in api.js uses the answer.
    globalThis.cellaMe = fetch("/v1/me", {headers: key ? {Authorization: `Bearer ${key}`} : {}, cache: "no-store", credentials: "omit"}).catch(() => null);
})();
