// The licences of the packages that are bundled into dist/.
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

/** `node_modules/a/node_modules/@b/c/lib/d.js`: the folder of the package that the file belongs to. */
const PACKAGE_FOLDER = /^.*node_modules\/(?:@[^/]+\/)?[^/]+/;
const LICENSE_FILE = /^(licen[cs]e|copying|notice)/i;

/**
 * Name, version, licence and licence text of each package that has code in the bundle.
 * @param outputs of the bundler's metafile
 */
export async function thirdPartyNotices(outputs) {
  const folders = new Set();
  for (const { inputs } of Object.values(outputs)) {
    for (const [path, { bytesInOutput }] of Object.entries(inputs)) {
      const [folder] = PACKAGE_FOLDER.exec(path) ?? [];
      if (folder !== undefined && bytesInOutput > 0) folders.add(folder);
    }
  }
  const notices = await Promise.all([...folders].map(noticeOf));
  const head = "kubelab contains code of the packages below. Each is used under its own licence.\n";
  return [head, ...notices.sort()].join(`\n${"=".repeat(80)}\n\n`);
}

async function noticeOf(folder) {
  const { name, version, license, homepage } = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
  const files = (await readdir(folder, { withFileTypes: true })).filter(
    (entry) => entry.isFile() && LICENSE_FILE.test(entry.name),
  );
  const texts = await Promise.all(files.map((file) => readFile(join(folder, file.name), "utf8")));
  const title = `${name} ${version} (${license})${homepage === undefined ? "" : `, ${homepage}`}`;
  return [title, ...texts.map((text) => text.trim())].join("\n\n").concat("\n");
}
