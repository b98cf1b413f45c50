// keys.js -- API keys: create one (its value is shown once), see what each may do, revoke.
import {api, append, badge, button, can, confirm, copyText, currentUser, dialog, empty, h, notice, timeOf, toast, toastError, visibleText} from "./app.js";
import {Entries, action, entry, field, form, pageHead} from "./entries.js";
import {controlFor, show} from "./controls.js";
import {styles} from "./live.js";

const CAPABILITIES = {
    "sandbox.exec": "run code, processes, contexts and terminals", "sandbox.manage": "create, pause and remove sandboxes", files: "files of its sandboxes",
    images: "pull, import and remove images, which all keys share", secrets: "set, list and remove secrets; values are never shown", settings: "settings, and keys with at most its own rights",
    audit: "executions of all keys, and the counters", monitor: "counters of the whole daemon", "host.exec": "run code on the host, in the modes that allow it",
};
const STANDARD = ["sandbox.exec", "sandbox.manage", "files"];
const TIERS = ["restricted", "standard", "elevated"];

export async function mount(root, {signal}) {
    const [{components, paths}] = await Promise.all([api("/openapi.json", {signal}), styles("pages.css")]);
    const named = (schema) => schema.$ref ? components.schemas[schema.$ref.split("/").at(-1)] : schema;
    const request = named(paths["/v1/keys"].post.requestBody.content["application/json"].schema);
    const list = new Entries({title: "Keys"}), first = h("div", {});
    const load = async () => {
        const {keys} = await api("/v1/keys", {signal});
        list.show(keys.map((key) => keyEntry(key, remove)), empty({icon: "key", title: "No keys", text: "Without keys, everyone who can connect to the loopback address of this machine may do everything."}));
        first.replaceChildren();
        if (keys.length === 0) append(first, notice("info", h("strong", {}, "The first key turns on signing in. "), "From then on, this page and all clients on TCP need a key. The owner can still make keys with ",
            h("code", {}, "cella key add"), "; to manage keys on this page, give the first key the capability settings."));
    };

    async function remove(key) {
        const own = key.id === currentUser()?.key;
        if (!await confirm({title: "Revoke this key?", text: `“${visibleText(key.name)}” stops working at once. ${own ? "It is the key that you are signed in with." : "Its sandboxes stay."}`, action: "Revoke"})) return;
        try {
            await api(`/v1/keys/${encodeURIComponent(key.id)}`, {method: "DELETE", signal});
            toast("The key was revoked", {kind: "ok", ms: 2500});
        } catch (error) {
            toastError(error);
        }
        await load().catch(toastError);
    }

    append(root, pageHead("Keys", "A key gives a client its rights: what it may do, its network tier and its limits."), first,
        h("div", {class: "split-form"}, list.element, newKey(named(request.properties.limits).properties, load, signal)));
    await load();
}

function keyEntry(key, remove) {
    const limits = Object.entries(key.limits ?? {});
    const lines = [
        h("ul", {class: "chips", "aria-label": "Capabilities"}, key.capabilities.map((c) => h("li", {class: ["chip", c === "host.exec" && "chip-warn"], title: CAPABILITIES[c] ?? ""}, c))),
        [key.secrets?.length > 0 && `Secrets: ${key.secrets.includes("*") ? "all" : key.secrets.join(", ")}`, limits.length > 0 && `Limits: ${limits.map(([name, value]) => `${name} ${show(`limits.${name}`, value)}`).join(", ")}`,
            key.sandboxes_max && `at most ${key.sandboxes_max} sandboxes`].filter(Boolean).join(" · "),
        h("span", {}, h("span", {class: "mono"}, key.id), key.created_ms && [", created ", timeOf(key.created_ms)]),
    ];
    return entry({id: key.id, title: key.name, badges: [badge(`tier ${key.tier}`, key.tier === "elevated" ? "warn" : ""), key.id === currentUser()?.key && badge("signed in", "info")], lines,
        actions: [action({label: "Revoke", of: key.name, icon: "trash", kind: "danger", onclick: () => remove(key)})]});
}

function newKey(limitSchemas, load, signal) {
    const me = currentUser();
    const name = h("input", {type: "text", required: true, maxlength: 128, spellcheck: "false"});
    const boxes = Object.entries(CAPABILITIES).map(([word, about]) => {
        const box = h("input", {type: "checkbox", value: word, checked: STANDARD.includes(word) && can(word), disabled: !can(word)});
        return {box, element: h("label", {class: "check capability", title: can(word) ? null : "Your key does not have this capability, so it cannot give it."}, box, h("span", {}, h("strong", {}, word), h("span", {class: "small"}, ` ${about}`)))};
    });
    const most = me.owner ? TIERS.length - 1 : TIERS.indexOf(me.tier);
    const tier = h("select", {}, TIERS.map((word, i) => h("option", {value: word, disabled: i > most}, word)));
    const secrets = h("input", {type: "text", spellcheck: "false", placeholder: "none"});
    const many = h("input", {type: "text", inputmode: "numeric", class: "number-input", placeholder: "no limit"});
    const limits = {}, wrong = new Map();
    const limitFields = Object.entries(limitSchemas).filter(([, about]) => [about.type].flat().some((type) => type === "integer" || type === "number")).map(([limit, about]) => {
        const title = about.title ?? limit.replaceAll("_", " "), id = `key-${limit}`, error = h("p", {class: "field-error", id: `${id}-error`});
        const control = controlFor({path: `limits.${limit}`, schema: {...about, type: [about.type, "null"].flat()}, id, title, value: null, onChange: (value, problem) => {
            error.textContent = problem ?? "";
            if (problem) wrong.set(title, problem); else wrong.delete(title);
            if (value === null || problem) delete limits[limit]; else limits[limit] = value;
        }});
        return h("div", {class: "form-field"}, h("label", {for: id}, title), control.element, h("p", {class: "hidden-text", id: `${id}-help`}, about.description ?? ""), error);
    });
    const number = () => {
        if (many.value.trim() === "") return null;
        if (!(Number(many.value) >= 1)) throw Object.assign(new Error("Sandboxes at once: a number from 1 on is needed."), {kind: "invalid_request"});
        return Number(many.value);
    };
    const made = form({title: "New key", label: "Create the key", send: async () => {
        if (wrong.size > 0) throw Object.assign(new Error([...wrong].map(([title, words]) => `${title}: ${words}`).join("; ")), {kind: "invalid_request"});
        const body = {name: name.value, capabilities: boxes.filter(({box}) => box.checked).map(({box}) => box.value), tier: tier.value,
            secrets: secrets.value.split(/[\s,]+/).filter(Boolean), limits};
        const most_ = number();
        if (most_ !== null) body.sandboxes_max = most_;
        const key = await api("/v1/keys", {method: "POST", body, signal});
        name.value = "";
        await showKey(key);
        await load(); // if it is the first key, this leads to signing in
    }}, field("Name", name, "For people; the client that uses the key."),
    h("fieldset", {class: "capabilities"}, h("legend", {}, "Capabilities"), boxes.map(({element}) => element)),
    field("Highest network tier", tier), field("Secrets it may use", secrets, "Names, separated by spaces; * for all."), field("Sandboxes at once", many),
    h("details", {}, h("summary", {}, "Limits that its requests may not exceed"), h("div", {class: "form-limits"}, limitFields)));
    return made;
}

// The daemon keeps only a hash: this is the only time that the key is shown.
async function showKey({name, key}) {
    const value = h("input", {type: "text", class: "mono key-value", readOnly: true, value: key, "aria-label": "The new key", onfocus: () => value.select()});
    await dialog({title: "The new key", body: [h("p", {}, `Copy the key of “${visibleText(name)}” now. It is not shown again: the daemon keeps only its hash.`),
        h("div", {class: "row"}, value, button({icon: "copy", title: "Copy the key", onclick: () => copyText(key)}))], actions: [{label: "I have copied it", kind: "primary", value: true}]});
    value.value = "";
}
