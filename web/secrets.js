// secrets.js -- secrets: set, change, remove. A value is sent to the daemon and never comes back.
import {api, append, confirm, empty, h, timeOf, toast, toastError, visibleText} from "./app.js";
import {Entries, action, entry, field, form, pageHead} from "./entries.js";
import {styles} from "./live.js";

export async function mount(root, {signal}) {
    await styles("pages.css");
    const list = new Entries({title: "Secrets"});
    const name = h("input", {type: "text", required: true, maxlength: 64, spellcheck: "false", class: "mono", autocomplete: "off"});
    const value = h("textarea", {required: true, rows: 3, spellcheck: "false", autocomplete: "off", class: "mono secret-value"});
    const load = async () => {
        const {secrets} = await api("/v1/secrets", {signal});
        list.show(secrets.map((secret) => secretEntry(secret)), empty({icon: "lock", title: "No secrets", text: "An execution gets a secret in an environment variable, if its key may use it. In output and in the log the value is masked."}));
    };

    function secretEntry(secret) {
        return entry({id: secret.name, title: secret.name, mono: true, lines: [h("span", {}, "Created ", timeOf(secret.created), secret.changed !== secret.created && [", changed ", timeOf(secret.changed)])],
            actions: [action({label: "Change", of: secret.name, icon: "edit", onclick: () => { name.value = secret.name; value.focus(); }}),
                action({label: "Remove", of: secret.name, icon: "trash", kind: "danger", onclick: () => remove(secret)})]});
    }

    async function remove(secret) {
        if (!await confirm({title: "Remove this secret?", text: `Executions that ask for “${visibleText(secret.name)}” are refused from then on. The value cannot be restored.`, action: "Remove"})) return;
        try {
            await api(`/v1/secrets/${encodeURIComponent(secret.name)}`, {method: "DELETE", signal});
        } catch (error) {
            toastError(error);
        }
        await load().catch(toastError);
    }

    const set = form({title: "Set a secret", label: "Set the secret", send: async () => {
        const response = await api(`/v1/secrets/${encodeURIComponent(name.value)}`, {method: "PUT", body: {value: value.value}, raw: true, signal});
        toast(response.status === 201 ? "The secret was created" : "The secret was changed", {kind: "ok", ms: 2500});
        name.value = value.value = "";
        await load();
    }}, field("Name", name, "The same name as an existing secret changes its value."), field("Value", value, "At least 4 bytes. It is stored encrypted, and neither this page nor the API can show it."));
    append(root, pageHead("Secrets", "Values that code gets in environment variables, and that are masked wherever its output is shown."), h("div", {class: "split-form"}, list.element, set));
    await load();
    return () => { value.value = ""; };
}
