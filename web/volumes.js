// volumes.js -- the directories of the host that sandboxes can ask for by name: the setting "mounts".
import {api, append, badge, confirm, copyText, currentUser, empty, h, icon, toast, visibleText} from "./app.js";
import {Entries, action, entry, field, form, pageHead} from "./entries.js";
import {styles} from "./live.js";

export async function mount(root, {signal}) {
    await styles("pages.css");
    const owner = currentUser().owner, list = new Entries({title: "Volumes"});
    let etag = null, mounts = [];
    const take = async (response) => {
        etag = response.headers.get("ETag");
        mounts = (await response.json()).mounts ?? [];
        list.show(mounts.map(volumeEntry), empty({icon: "disk", title: "No volumes", text: "A volume is a directory of this machine that the owner of the daemon offers under a name."}));
    };
    const load = async () => take(await api("/v1/settings", {raw: true, signal}));

    // Another client may have saved meanwhile: then the new list is shown, and nothing is overwritten.
    async function save(changed) {
        try {
            await take(await api("/v1/settings", {method: "PATCH", body: {mounts: changed}, headers: {"If-Match": etag}, raw: true, signal}));
        } catch (error) {
            if (error.status === 412) await load();
            throw error;
        }
    }

    function volumeEntry(volume) {
        const use = `"mounts": [{"name": ${JSON.stringify(volume.name)}, "target": "/data"}]`;
        return entry({id: volume.name, title: volume.name, mono: true, badges: [badge(volume.mode === "rw" ? "read and write" : "read only", volume.mode === "rw" ? "warn" : "")],
            lines: [volume.path, h("span", {}, "In a request: ", h("code", {}, visibleText(use)))],
            actions: [action({label: "Copy the request", of: `for ${volume.name}`, icon: "copy", onclick: () => copyText(use)}),
                owner && action({label: "Remove", of: volume.name, icon: "trash", kind: "danger", onclick: () => remove(volume)})]});
    }

    async function remove(volume) {
        if (!await confirm({title: "Stop offering this directory?", text: `“${visibleText(volume.name)}” can no longer be requested. Running sandboxes keep it; the files stay.`, action: "Remove"})) return;
        try {
            await save(mounts.filter((other) => other.name !== volume.name));
        } catch (error) {
            toast(error.message, {kind: "bad", hint: error.hint});
        }
    }

    const name = h("input", {type: "text", required: true, maxlength: 64, spellcheck: "false", class: "mono", placeholder: "datasets"});
    const path = h("input", {type: "text", required: true, spellcheck: "false", class: "mono", placeholder: "/srv/datasets"});
    const mode = h("select", {}, h("option", {value: "ro"}, "Read only"), h("option", {value: "rw"}, "Read and write"));
    const add = owner ? form({title: "Offer a directory", label: "Offer it", send: async () => {
        await save([...mounts, {name: name.value.trim(), path: path.value.trim(), mode: mode.value}]);
        toast("Sandboxes can ask for it now", {kind: "ok", ms: 2500});
        name.value = path.value = "";
    }}, field("Name", name), field("Directory", path, "An absolute path on this machine; not one of the system."), field("Access", mode))
        : h("p", {class: "notice"}, icon("key"), h("span", {class: "notice-text"}, "Only the owner of the daemon can offer directories: use this page on the machine itself without a key, or the command line."));
    append(root, pageHead("Volumes", "Directories of this machine that a request can have in its sandbox, by name."), h("div", {class: "split-form"}, list.element, add));
    await load();
}
