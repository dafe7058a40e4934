// The licences of the packages that are bundled into dist/.
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

/** `node_modules/a/node_modules/@b/c/lib/d.js`: the folder of the package that the file belongs to. */
const PACKAGE_FOLDER = /^.*node_modules\/(?:@[^/]+\/)?[^/]+/;
const LICENSE_FILE = /^(licen[cs]e|copying|notice)/i;

/**
 * The packages that have code in the bundle, by their names.
 * @param files that have code in the bundle, by their paths
 */
export async function bundledPackages(files) {
  const folders = new Set(files.flatMap((path) => PACKAGE_FOLDER.exec(path) ?? []));
  const packages = await Promise.all([...folders].map(packageIn));
  return packages.sort((a, b) => (`${a.name} ${a.version}` < `${b.name} ${b.version}` ? -1 : 1));
}

async function packageIn(folder) {
  const { name, version, license, homepage } = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
  const files = (await readdir(folder, { withFileTypes: true })).filter(
    (entry) => entry.isFile() && LICENSE_FILE.test(entry.name),
  );
  const texts = await Promise.all(files.map((file) => readFile(join(folder, file.name), "utf8")));
  return { name, version, license, homepage, texts: texts.map((text) => text.trim()) };
}

/** Name, version, licence and licence text of each package that has code in the bundle. */
export function thirdPartyNotices(packages) {
  const notices = packages.map(({ name, version, license, homepage, texts }) => {
    const title = `${name} ${version} (${license})${homepage === undefined ? "" : `, ${homepage}`}`;
    return [title, ...texts].join("\n\n").concat("\n");
  });
  const head = "kubelab contains code of the packages below. Each is used under its own licence.\n";
  return [head, ...notices].join(`\n${"=".repeat(80)}\n\n`);
}
