import assert from "node:assert/strict";
import { afterEach, beforeAll, test } from "vitest";
import { loadPrograms, newFolder, RuntimeLab, stateOf } from "./lab.js";

let lab = new RuntimeLab();
beforeAll(async () => {
  await Promise.all([loadPrograms(), import("re2js")]);
});
afterEach(() => {
  lab.stop();
  lab = new RuntimeLab();
});

const IMAGE = { image: { image: "nginx" } };
const START = "exec nginx -g 'daemon off;'";

/** Starts nginx with a configuration of its own. */
async function start(config: string, file = "/etc/nginx/conf.d/default.conf") {
  const script = `mkdir -p /www/sub; echo index > /www/index.html; echo page > /www/a.php; echo sub > /www/sub/index.html\ncat > ${file} <<'X'\n${config}\nX\n${START}`;
  const container = lab.run({ ...IMAGE, command: ["sh", "-c", script] });
  const [output, errors] = [lab.output(container), lab.output(container, "stderr")];
  await lab.settle();
  const get = async (path: string, more = "") =>
    (await lab.sh(`curl -s -w ' %{http_code}' ${more} 'http://127.0.0.1:${path}' | grep -v '[<>]'`, container)).stdout
      .toString()
      .replace(/\s+/g, " ")
      .trim();
  return { container, output, errors, get };
}

const SITE = `
server {
  listen 80; # the first
  root /www;
  location = /healthz { access_log off; return 200 "ok\\n"; }
  location /old { return 301 /new$request_uri; }
  location /api/ { proxy_pass http://api; }
  location ~ \\.php$ { deny all; }
  location ^~ /keep { return 200 'kept'; }
  location /files/ { alias /www/sub/; }
  location /app { try_files $uri $uri/ /index.html; }
  location /none { try_files $uri =410; }
}
server { listen 80; server_name other.example; return 200 other; }
server { listen 8080; return 200 "second"; }`;

const ANSWERS: readonly (readonly [path: string, want: string, more?: string])[] = [
  ["80/", "index 200"],
  ["80/healthz", "ok 200"],
  ["80/healthz/x", "404"],
  ["80/nofile.txt", "404"],
  ["80/a.php", "403"],
  ["80/keep/a.php", "kept 200"],
  ["80/api/x", "502"],
  ["80/sub/", "sub 200"],
  ["80/files/index.html", "sub 200"],
  ["80/app/deep/link", "index 200"],
  ["80/none/x", "410"],
  ["80/", "other 200", "-H 'Host: other.example'"],
  ["8080/any", "second 200"],
];

test("nginx: the location decides, and what it cannot do is named", async () => {
  const { get, errors, output, container } = await start(SITE);
  const seen: string[] = [];
  for (const [path, , more] of ANSWERS) seen.push(await get(path, more));
  assert.deepEqual(
    seen,
    ANSWERS.map(([, want]) => want),
  );
  const head = await lab.sh("curl -si http://127.0.0.1/old?a=1", container);
  assert.match(head.stdout.toString(), /^HTTP\/1\.1 301 [\s\S]*\r\nLocation: \/new\/old\?a=1\r\n/);
  assert.match(
    errors(),
    /\[warn\] 1#1: kubelab's nginx cannot do "proxy_pass" in \/etc\/nginx\/conf\.d\/default\.conf:7\n/,
  );
  assert.doesNotMatch(output(), /GET \/healthz HTTP/);
});

test("nginx: nginx.conf itself may have the servers, and -t tests it", async () => {
  const { get, container } = await start(
    "events {}\nhttp { include mime.types; server { listen 8080; root /www; } }",
    "/etc/nginx/nginx.conf",
  );
  assert.deepEqual([await get("8080/"), await get("80/")], ["index 200", "000"]);
  const tested = await lab.sh(
    "nginx -t; echo 'http { server { listen 80 }' > /etc/nginx/nginx.conf; nginx -t",
    container,
  );
  assert.equal(
    tested.stderr.toString(),
    `nginx: the configuration file /etc/nginx/nginx.conf syntax is ok
nginx: configuration file /etc/nginx/nginx.conf test is successful
nginx: [emerg] unexpected "}" in /etc/nginx/nginx.conf:1
nginx: configuration file /etc/nginx/nginx.conf test failed
`,
  );
});

test.each([
  ["server { listen 80;", '[emerg] unexpected end of file, expecting "}" in /etc/nginx/conf.d/default.conf:2'],
  ["include nope.conf;", '[emerg] open() "/etc/nginx/nope.conf" failed (2: No such file or directory)'],
  ["include default.conf; include conf.d/default.conf;", "[emerg] open()"],
])("nginx: %s does not start", async (config, want) => {
  const { container, errors } = await start(config);
  assert.ok(errors().startsWith(`nginx: ${want}`), errors());
  assert.equal(stateOf(container), "exited (1, Error)");
});

test("nginx: a volume at /var/log/nginx gets the access log", async () => {
  const mounts = [{ containerPath: "/var/log/nginx", hostPath: newFolder() }];
  const container = lab.run({ ...IMAGE, mounts });
  const output = lab.output(container);
  await lab.settle();
  const log = await lab.sh("wget -qO- localhost > /dev/null; cat /var/log/nginx/access.log", container);
  assert.match(log.stdout.toString(), /^127\.0\.0\.1 - - .* "GET \/ HTTP\/1\.1" 200 /);
  assert.equal(output(), "");
});
