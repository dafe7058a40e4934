import { type Device, type DirectoryNode, directory, type FsNode, file, symlink } from "../../shell/fs/nodes.js";
import { APPLETS } from "../../shell/programs/table.js";
import type { ImageDefinition } from "./definition.js";

const EXECUTABLE = 0o755;
/** The content of one of our executables for a reader. */
const EXECUTABLE_CONTENT = Buffer.from("\x7fELF", "latin1");
/** The build time of the images: their files are older than any container. */
const IMAGE_TIME_MS = Date.UTC(2023, 0, 1);
const FOLDERS = [
  "/bin",
  "/dev",
  "/dev/mqueue",
  "/dev/pts",
  "/dev/shm",
  "/etc",
  "/home",
  "/proc",
  "/root",
  "/run",
  "/sys",
  "/tmp",
  "/usr/bin",
  "/usr/sbin",
  "/var/run",
];

/** Modes of folders by name; of all others 0755. */
const FOLDER_MODES: Readonly<Record<string, number>> = { root: 0o700, shm: 0o1777, tmp: 0o1777 };

/** The devices of the simulated machine, which each container has. */
export const DEVICES: Readonly<Record<string, Device>> = {
  "/dev/null": "null",
  "/dev/zero": "zero",
  "/dev/full": "full",
  "/dev/urandom": "urandom",
  "/dev/tty": "tty",
  "/dev/random": "urandom",
};

const PASSWD = [
  "root:x:0:0:root:/root:/bin/sh",
  "daemon:x:1:1:daemon:/usr/sbin:/bin/false",
  "www-data:x:33:33:www-data:/var/www:/bin/false",
  "nginx:x:101:101:nginx:/nonexistent:/bin/false",
  "nobody:x:65534:65534:nobody:/home:/bin/false",
  "",
];

/**
 * Builds an image's file system from its description. Containers share it until they write to it.
 * @param osRelease "" for an image without a distribution
 */
export function buildRootTree(definition: ImageDefinition, osRelease = ""): DirectoryNode {
  const owner = {};
  const root = directory(owner, IMAGE_TIME_MS);
  const put = (path: string, node: FsNode) => {
    const { folder, name } = enter(root, path, owner);
    folder.children.set(name, node);
  };
  const program = (path: string, name: string) =>
    put(path, file(owner, IMAGE_TIME_MS, EXECUTABLE_CONTENT, { mode: EXECUTABLE, program: name }));
  const text = (path: string, content: string) => put(path, file(owner, IMAGE_TIME_MS, Buffer.from(content)));

  for (const path of FOLDERS) enter(root, `${path}/x`, owner);
  for (const [path, device] of Object.entries(DEVICES)) put(path, deviceFile(owner, IMAGE_TIME_MS, device));
  ["stdin", "stdout", "stderr"].forEach((name, fd) => {
    put(`/dev/${name}`, symlink(owner, IMAGE_TIME_MS, `/proc/self/fd/${fd}`));
  });
  text("/etc/passwd", PASSWD.join("\n"));
  text("/etc/group", PASSWD.map((line) => line.replace(/^([^:]*):x:\d+:(\d+):.*$/, "$1:x:$2:")).join("\n"));
  const shadow = PASSWD.map((line) => line.replace(/^([^:]*):.*$/, "$1:*:19000:0:99999:7:::")).join("\n");
  put("/etc/shadow", file(owner, IMAGE_TIME_MS, Buffer.from(shadow), { mode: 0o600 }));
  if (definition.applets !== "") {
    for (const [name, which] of APPLETS) program(`${definition.applets}/${name}`, which);
  }
  for (const [path, name] of Object.entries(definition.programs)) program(path, name);
  if (osRelease !== "") text("/etc/os-release", osRelease);
  if (Object.values(definition.programs).includes("nginx")) {
    enter(root, "/var/cache/nginx/x", owner);
    text("/etc/nginx/nginx.conf", NGINX_CONFIG);
    put("/var/log/nginx/access.log", symlink(owner, IMAGE_TIME_MS, "/dev/stdout"));
    put("/var/log/nginx/error.log", symlink(owner, IMAGE_TIME_MS, "/dev/stderr"));
  }
  if (definition.ports.length > 0) text("/etc/nginx/conf.d/default.conf", serverConfig(definition));
  for (const [path, lines] of Object.entries(definition.files)) {
    if (path.endsWith("/")) enter(root, `${path}x`, owner);
    else text(path, lines.join("\n"));
  }
  return root;
}

/** What our nginx does. */
const NGINX_CONFIG = `
user  nginx;
worker_processes  1;

error_log  /var/log/nginx/error.log notice;
pid        /var/run/nginx.pid;

events {
    worker_connections  1024;
}

http {
    access_log  /var/log/nginx/access.log;
    include /etc/nginx/conf.d/*.conf;
}
`;

/** @param mtimeMs Unix ms */
export function deviceFile(owner: object, mtimeMs: number, device: Device): FsNode {
  return file(owner, mtimeMs, Buffer.alloc(0), { mode: 0o666, device });
}

function enter(root: DirectoryNode, path: string, owner: object): { folder: DirectoryNode; name: string } {
  const names = path.split("/").filter((name) => name !== "");
  let folder = root;
  for (const name of names.slice(0, -1)) {
    const next = folder.children.get(name);
    if (next?.type === "directory") {
      folder = next;
      continue;
    }
    const made = directory(owner, IMAGE_TIME_MS, FOLDER_MODES[name] ?? EXECUTABLE);
    folder.children.set(name, made);
    folder = made;
  }
  return { folder, name: names.at(-1) ?? "" };
}

function serverConfig(definition: ImageDefinition): string {
  return definition.ports
    .map(({ port, root, text }) => {
      const what = root === undefined ? `return 200 "${text ?? ""}";` : `root ${root};`;
      return `server {\n    listen ${port};\n    location / {\n        ${what}\n    }\n}\n`;
    })
    .join("");
}
