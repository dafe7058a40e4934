const TOKEN = /^([a-z0-9]{6})\.([a-z0-9]{16})$/;

export function parseToken(text) {
  const match = TOKEN.exec(text.trim());
  if (match === null) throw new Error("the token is malformed");
  return { id: match[1], secret: match[2] };
}

export function tokenSecret({ id, secret }, { expiration, usages, groups }) {
  const fields = { "token-id": id, "token-secret": secret };
  for (const usage of usages) fields[`usage-bootstrap-${usage}`] = "true";
  if (groups.length > 0) fields["auth-extra-groups"] = groups.join(",");
  if (expiration !== undefined) fields.expiration = expiration;
  const encode = (text) => Buffer.from(text).toString("base64");
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: `bootstrap-token-${id}`, namespace: "kube-system" },
    type: "bootstrap.kubernetes.io/token",
    data: Object.fromEntries(Object.entries(fields).map(([key, text]) => [key, encode(text)])),
  };
}

export function isExpired(secret, nowMs) {
  const value = secret.data.expiration;
  if (value === undefined) return false;
  const atMs = Date.parse(Buffer.from(value, "base64").toString());
  return Number.isNaN(atMs) || nowMs > atMs;
}
