/*
 * Loaded before a program (`node --require`), this makes Linux look like macOS as far as a program of Node sees it: another platform,
 * no /proc and /sys, and shorter paths of sockets. Child processes inherit it with NODE_OPTIONS.
 */
const fs = require("node:fs");
const { syncBuiltinESMExports } = require("node:module");

Object.defineProperty(process, "platform", { value: "darwin" });

const ABSENT = /^\/(?:proc|sys|dev\/shm|etc\/os-release|etc\/machine-id)(?:\/|$)/;
const NAMES = [
  "access",
  "lstat",
  "mkdtemp",
  "open",
  "opendir",
  "readdir",
  "readFile",
  "readlink",
  "realpath",
  "stat",
  "statfs",
];

function absent(path, syscall) {
  if (typeof path !== "string" || !ABSENT.test(path)) return undefined;
  const message = `ENOENT: no such file or directory, ${syscall} '${path}'`;
  return Object.assign(new Error(message), { errno: -2, code: "ENOENT", syscall, path });
}

function patch(object, name, fake) {
  const real = object[name];
  object[name] = Object.assign((...args) => fake(real, args), real);
}

for (const name of NAMES) {
  patch(fs.promises, name, (real, args) => {
    const error = absent(args[0], name);
    return error === undefined ? real(...args) : Promise.reject(error);
  });
  patch(fs, name, (real, args) => {
    const error = absent(args[0], name);
    if (error === undefined) return real(...args);
    setImmediate(args.at(-1), error);
  });
  patch(fs, `${name}Sync`, (real, args) => {
    const error = absent(args[0], name);
    if (error === undefined) return real(...args);
    if (args[1]?.throwIfNoEntry === false) return undefined;
    throw error;
  });
}
patch(fs, "existsSync", (real, args) => absent(args[0], "access") === undefined && real(...args));
syncBuiltinESMExports();

/** sockaddr_un of Darwin holds 104 bytes with the one at the end. */
const MAX_SOCKET_PATH = 103;
const EINVAL = -22;
const { Pipe } = process.binding("pipe_wrap");
const { bind, connect } = Pipe.prototype;
Pipe.prototype.bind = function (path, ...rest) {
  return Buffer.byteLength(path) > MAX_SOCKET_PATH ? EINVAL : bind.call(this, path, ...rest);
};
Pipe.prototype.connect = function (request, path, ...rest) {
  return Buffer.byteLength(path) > MAX_SOCKET_PATH ? EINVAL : connect.call(this, request, path, ...rest);
};
