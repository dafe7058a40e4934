import type { V1Lease } from "@kubernetes/client-node";
import type { Wire } from "../../staging/apimachinery/wire.js";
import type { LocalClient } from "../../staging/client-go/dynamic/interface.js";
import { LeaderElector } from "../../staging/client-go/leaderelection/leader-election.js";
import { type LeaseClient, LeaseLock } from "../../staging/client-go/leaderelection/resourcelock/lease-lock.js";
import type { UserInfo } from "../../staging/server/authentication/user.js";
import type { Actor } from "../../trace/events.js";
import { quieterTrace } from "../../trace/view.js";
import { untilAborted } from "../../util/async/concurrency.js";
import { messageOf } from "../../util/errors.js";
import { CONTROLLER_MANAGER } from "../controllers/create-controllers.js";
import { ControllerRecorder } from "../controllers/support/event-recorder.js";
import {
  type Component,
  type ComponentsDeps,
  type ComponentsOptions,
  KUBE_SCHEDULER,
  type RunningControllers,
  startControllers,
} from "./components.js";

const LEASES = "leases.coordination.k8s.io";
const NAMESPACE = "kube-system";
/** A renewal every two seconds is not part of any story. */
const RENEWAL_LEVEL = 4;
/** Mirrors leaderElectionTimeout in cmd/kube-controller-manager/app/controllermanager.go. */
const TOLERANCE_MS = 20_000;

interface Candidate {
  readonly component: Component;
  /** the name of its lease */
  readonly lease: string;
  readonly user: UserInfo;
  readonly actor: Actor;
  /** the source of its events */
  readonly source: string;
}

const CANDIDATES: readonly Candidate[] = [
  {
    component: "controller-manager",
    lease: "kube-controller-manager",
    user: CONTROLLER_MANAGER,
    actor: "controller",
    source: "kube-controller-manager",
  },
  {
    component: "scheduler",
    lease: "kube-scheduler",
    user: KUBE_SCHEDULER,
    actor: "scheduler",
    source: "default-scheduler",
  },
];

/**
 * Runs the controllers, and apart from them the scheduler, while this server holds their leases. Other servers of the same etcd
 * take over when it stops to renew them. Returns at once.
 *
 * Mirrors leaderElectAndRun in cmd/kube-controller-manager/app/controllermanager.go and Run in cmd/kube-scheduler/app/server.go.
 * Differs: the controllers release their lease at the end, as only the scheduler does upstream: here they have ended before.
 */
export function startElectedControllers(
  deps: ComponentsDeps,
  identity: string,
  options: ComponentsOptions = {},
): RunningControllers {
  const stop = new AbortController();
  const candidates = CANDIDATES.filter(({ component }) => options.without?.includes(component) !== true);
  const running = candidates.map((candidate) => new ElectedComponent(deps, candidate, identity, options));
  const ends = Promise.all(running.map((one) => one.run(stop.signal)));
  const close = async () => {
    stop.abort();
    await ends;
  };
  return {
    get names() {
      return running.flatMap((one) => one.names);
    },
    get failures() {
      return new Map(running.flatMap((one) => one.failures));
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** The controllers of one component, which run while their lease is held. */
class ElectedComponent {
  readonly #elector: LeaderElector;
  #running: RunningControllers | undefined;

  constructor(
    readonly deps: ComponentsDeps,
    readonly candidate: Candidate,
    identity: string,
    readonly options: ComponentsOptions,
  ) {
    const { lease, user, actor, source } = candidate;
    const { clock, random, trace, kubeVersion } = deps;
    const client = deps.clientFor(user, quieterTrace(trace, RENEWAL_LEVEL));
    const recorder = new ControllerRecorder({ client, clock, trace, kubeVersion }, source);
    const lock = new LeaseLock({ leases: leasesOf(client), recorder }, { namespace: NAMESPACE, name: lease, identity });
    this.#elector = new LeaderElector({ lock, clock, random, trace, actor });
  }

  /** A component that follows another leader stands for its controllers. */
  get names(): readonly string[] {
    return this.#running?.names ?? [this.candidate.component];
  }

  get failures(): readonly (readonly [string, string])[] {
    try {
      this.#elector.check(TOLERANCE_MS);
    } catch (error) {
      return [[this.candidate.component, messageOf(error)]];
    }
    return [...(this.#running?.failures ?? [])];
  }

  run(signal: AbortSignal): Promise<void> {
    return this.deps.trace.detached(() => this.#elector.run((leading) => this.#lead(leading), signal), "timer");
  }

  async #lead(signal: AbortSignal): Promise<void> {
    await using controllers = startControllers(this.deps, { ...this.options, component: this.candidate.component });
    this.#running = controllers;
    await untilAborted(signal);
    this.#running = undefined;
  }
}

function leasesOf(client: LocalClient): LeaseClient {
  return {
    get: (namespace, name) => client.get<Wire<V1Lease>>(LEASES, namespace, name),
    create: (lease) => client.create<Wire<V1Lease>>(LEASES, lease.metadata.namespace, lease),
    update: (lease) => client.update<Wire<V1Lease>>(LEASES, lease),
  };
}
