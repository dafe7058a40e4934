import { isIP } from "node:net";

/**
 * Syntax of names, labels and similar strings, with upstream's messages.
 * Mirrors k8s.io/apimachinery/pkg/util/validation/validation.go and pkg/api/validation/path/name.go. All functions return
 * a list of messages, which is empty for a valid value.
 */

const DNS1123_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const DNS1123_SUBDOMAIN = `${DNS1123_LABEL}(\\.${DNS1123_LABEL})*`;
const WILDCARD_DNS1123_SUBDOMAIN = `\\*\\.${DNS1123_SUBDOMAIN}`;
const DNS1035_LABEL = "[a-z]([-a-z0-9]*[a-z0-9])?";
const QUALIFIED_NAME = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const LABEL_VALUE = `(${QUALIFIED_NAME})?`;
const CONFIG_MAP_KEY = "[-._a-zA-Z0-9]+";
const ENV_VAR_NAME = "[-._a-zA-Z][-._a-zA-Z0-9]*";
const PORT_NAME_CHARACTERS = /^[-a-z0-9]+$/;

function whole(pattern: string): RegExp {
  return new RegExp(`^(?:${pattern})$`);
}

const REGEXPS = {
  label: whole(DNS1123_LABEL),
  subdomain: whole(DNS1123_SUBDOMAIN),
  wildcardSubdomain: whole(WILDCARD_DNS1123_SUBDOMAIN),
  label1035: whole(DNS1035_LABEL),
  qualifiedName: whole(QUALIFIED_NAME),
  labelValue: whole(LABEL_VALUE),
  configMapKey: whole(CONFIG_MAP_KEY),
  envVarName: whole(ENV_VAR_NAME),
};

/** `<text> (e.g. 'x',  or 'y', regex used for validation is '…')`, with Go's odd double blanks. */
function regexMessage(text: string, pattern: string, ...examples: readonly string[]): string {
  const shown = examples.map((one, index) => `${index === 0 ? "" : " or "}'${one}', `).join("");
  return `${text} (e.g. ${shown}regex used for validation is '${pattern}')`;
}

function maxLengthMessage(length: number): string {
  return `must be no more than ${length} characters`;
}

export function isDns1123Label(value: string): string[] {
  const messages = value.length > 63 ? [maxLengthMessage(63)] : [];
  if (REGEXPS.label.test(value)) return messages;
  if (REGEXPS.subdomain.test(value)) return [...messages, "must not contain dots"];
  const text =
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character";
  return [...messages, regexMessage(text, DNS1123_LABEL, "my-name", "123-abc")];
}

export function isDns1123Subdomain(value: string): string[] {
  const messages = value.length > 253 ? [maxLengthMessage(253)] : [];
  if (REGEXPS.subdomain.test(value)) return messages;
  const text =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character";
  return [...messages, regexMessage(text, DNS1123_SUBDOMAIN, "example.com")];
}

/** `*.example.com`: the hosts of an Ingress. */
export function isWildcardDns1123Subdomain(value: string): string[] {
  const messages = value.length > 253 ? [maxLengthMessage(253)] : [];
  if (REGEXPS.wildcardSubdomain.test(value)) return messages;
  const text =
    "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character";
  return [...messages, regexMessage(text, WILDCARD_DNS1123_SUBDOMAIN, "*.example.com")];
}

export function isDns1035Label(value: string): string[] {
  const messages = value.length > 63 ? [maxLengthMessage(63)] : [];
  if (REGEXPS.label1035.test(value)) return messages;
  const text =
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character";
  return [...messages, regexMessage(text, DNS1035_LABEL, "my-name", "abc-123")];
}

/** A name that only has to be safe in a URL path: roles, CSRs. Mirrors IsValidPathSegmentName. */
export function isPathSegmentName(value: string): string[] {
  if (value === "." || value === "..") return [`may not be '${value}'`];
  return ["/", "%"].filter((one) => value.includes(one)).map((one) => `may not contain '${one}'`);
}

// Made once: a request may have 150,000 labels.
const NAME_MESSAGE = regexMessage(
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
  QUALIFIED_NAME,
  "MyName",
  "my.name",
  "123-abc",
);
const LABEL_VALUE_MESSAGE = regexMessage(
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
  LABEL_VALUE,
  "MyValue",
  "my_value",
  "12345",
);

/** `[prefix/]name`, for label keys and annotation keys. Mirrors IsQualifiedName. */
export function isQualifiedName(value: string): string[] {
  const messages: string[] = [];
  const slash = value.indexOf("/");
  const name = value.slice(slash + 1);
  if (slash >= 0 && !name.includes("/")) {
    const prefix = value.slice(0, slash);
    if (prefix === "") messages.push("prefix part must be non-empty");
    else for (const one of isDns1123Subdomain(prefix)) messages.push(`prefix part ${one}`);
  } else if (slash >= 0) {
    return [
      `a qualified name ${NAME_MESSAGE} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
    ];
  }
  if (name === "") messages.push("name part must be non-empty");
  else if (name.length > 63) messages.push(`name part ${maxLengthMessage(63)}`);
  if (!REGEXPS.qualifiedName.test(name)) messages.push(`name part ${NAME_MESSAGE}`);
  return messages;
}

/** The rule for label keys, but with upper case in the prefix. */
export function isAnnotationKey(value: string): string[] {
  return isQualifiedName(value.toLowerCase());
}

export function isLabelValue(value: string): string[] {
  const messages = value.length > 63 ? [maxLengthMessage(63)] : [];
  if (REGEXPS.labelValue.test(value)) return messages;
  return [...messages, LABEL_VALUE_MESSAGE];
}

/** A file name must not lead to another directory. Mirrors hasChDirPrefix. */
function chDirMessages(value: string): string[] {
  if (value === ".") return ["must not be '.'"];
  if (value === "..") return ["must not be '..'"];
  return value.startsWith("..") ? ["must not start with '..'"] : [];
}

/** Keys of config maps and secrets. Mirrors IsConfigMapKey. */
export function isConfigMapKey(value: string): string[] {
  const messages = value.length > 253 ? [maxLengthMessage(253)] : [];
  if (!REGEXPS.configMapKey.test(value)) {
    const text = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'";
    messages.push(regexMessage(text, CONFIG_MAP_KEY, "key.name", "KEY_NAME", "key-name"));
  }
  return [...messages, ...chDirMessages(value)];
}

export function isEnvVarName(value: string): string[] {
  const messages: string[] = [];
  if (!REGEXPS.envVarName.test(value)) {
    const text =
      "a valid environment variable name must consist of alphabetic characters, digits, '_', '-', or '.', and must not start with a digit";
    messages.push(regexMessage(text, ENV_VAR_NAME, "my.env-name", "MY_ENV.NAME", "MyEnvName1"));
  }
  return [...messages, ...chDirMessages(value)];
}

/** Names of container and service ports. Mirrors IsValidPortName. */
export function isPortName(value: string): string[] {
  const messages: string[] = [];
  if (value.length > 15) messages.push(maxLengthMessage(15));
  if (!PORT_NAME_CHARACTERS.test(value))
    messages.push("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)");
  if (!/[a-z]/.test(value)) messages.push("must contain at least one letter (a-z)");
  if (value.includes("--")) messages.push("must not contain consecutive hyphens");
  if (value.startsWith("-") || value.endsWith("-")) messages.push("must not begin or end with a hyphen");
  return messages;
}

export function isPortNumber(value: number): string[] {
  return value >= 1 && value <= 65535 ? [] : ["must be between 1 and 65535, inclusive"];
}

/** Mirrors IsValidIP. */
export function isValidIp(value: string): string[] {
  return isIP(value) === 0 ? ["must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"] : [];
}

/** Addresses that no endpoint or external IP can have. Mirrors ValidateNonSpecialIP in pkg/apis/core/validation. */
export function nonSpecialIp(value: string): string[] {
  const ip = value.toLowerCase();
  if (isIP(ip) === 0) return ["must be a valid IP address"];
  if (ip === "0.0.0.0" || ip === "::") return ["may not be unspecified (0.0.0.0)"];
  if (ip.startsWith("127.") || ip === "::1") return ["may not be in the loopback range (127.0.0.0/8)"];
  if (ip.startsWith("169.254.") || /^fe[89ab]/.test(ip)) {
    return ["may not be in the link-local range (169.254.0.0/16)"];
  }
  if (ip.startsWith("224.0.0.") || ip.startsWith("ff02:")) {
    return ["may not be in the link-local multicast range (224.0.0.0/24)"];
  }
  return [];
}
