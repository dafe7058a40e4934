/** Linux's signals by their numbers on x86-64. Exit codes show 128 + number. */
const NUMBERS = {
  SIGHUP: 1,
  SIGINT: 2,
  SIGQUIT: 3,
  SIGILL: 4,
  SIGTRAP: 5,
  SIGABRT: 6,
  SIGBUS: 7,
  SIGFPE: 8,
  SIGKILL: 9,
  SIGUSR1: 10,
  SIGSEGV: 11,
  SIGUSR2: 12,
  SIGPIPE: 13,
  SIGALRM: 14,
  SIGTERM: 15,
  SIGSTKFLT: 16,
  SIGCHLD: 17,
  SIGCONT: 18,
  SIGSTOP: 19,
  SIGTSTP: 20,
  SIGTTIN: 21,
  SIGTTOU: 22,
  SIGURG: 23,
  SIGXCPU: 24,
  SIGXFSZ: 25,
  SIGVTALRM: 26,
  SIGPROF: 27,
  SIGWINCH: 28,
  SIGIO: 29,
  SIGPWR: 30,
  SIGSYS: 31,
} as const;

export type SignalName = keyof typeof NUMBERS;

/** Other names of the same signals. */
const ALIASES: Readonly<Record<string, SignalName>> = { SIGCLD: "SIGCHLD", SIGIOT: "SIGABRT", SIGPOLL: "SIGIO" };
const SIGRTMIN = 34;
const SIGRTMAX = 64;

/** @param text `SIGTERM`, `TERM`, `15`, `SIGRTMIN+3` @returns its number; undefined for an unknown signal */
export function parseSignal(text: string): number | undefined {
  if (/^\d+$/.test(text)) {
    const number = Number(text);
    return number >= 1 && number <= SIGRTMAX ? number : undefined;
  }
  const upper = text.toUpperCase();
  const name = upper.startsWith("SIG") ? upper : `SIG${upper}`;
  const realTime = /^SIGRT(MIN|MAX)(?:[+-](\d+))?$/.exec(name);
  if (realTime !== null) {
    const steps = Number(realTime[2] ?? 0);
    const number = realTime[1] === "MIN" ? SIGRTMIN + steps : SIGRTMAX - steps;
    return number >= SIGRTMIN && number <= SIGRTMAX ? number : undefined;
  }
  return NUMBERS[ALIASES[name] ?? (name as SignalName)];
}

const NAME_OF = new Map<number, SignalName>(
  Object.entries(NUMBERS).map(([name, number]) => [number, name as SignalName]),
);

/** `SIGTERM`; `SIGRTMIN+3` for the real-time ones */
export function signalName(number: number): string {
  return NAME_OF.get(number) ?? `SIGRTMIN+${number - SIGRTMIN}`;
}

/** The lines of `kill -l`, as busybox prints them. */
export function signalList(): string {
  const names = [...NAME_OF].map(([number, name]) => [number, name === "SIGIO" ? "POLL" : name.slice(3)] as const);
  return names.map(([number, name]) => `${String(number).padStart(2)}) ${name}\n`).join("");
}

export const SIGINT = NUMBERS.SIGINT;
export const SIGHUP = NUMBERS.SIGHUP;
export const SIGQUIT = NUMBERS.SIGQUIT;
export const SIGKILL = NUMBERS.SIGKILL;
export const SIGPIPE = NUMBERS.SIGPIPE;
export const SIGTERM = NUMBERS.SIGTERM;
export const SIGSEGV = NUMBERS.SIGSEGV;
export const SIGTSTP = NUMBERS.SIGTSTP;
export const SIGWINCH = NUMBERS.SIGWINCH;

const HARMLESS: ReadonlySet<number> = new Set([NUMBERS.SIGCHLD, NUMBERS.SIGURG, NUMBERS.SIGWINCH, NUMBERS.SIGCONT]);
/** Differs: processes cannot be stopped and continued here, so these signals have no effect. */
const STOPPING: ReadonlySet<number> = new Set([NUMBERS.SIGSTOP, NUMBERS.SIGTSTP, NUMBERS.SIGTTIN, NUMBERS.SIGTTOU]);

/** Whether the signal ends a process by default. */
export function endsByDefault(number: number): boolean {
  return !HARMLESS.has(number) && !STOPPING.has(number);
}
