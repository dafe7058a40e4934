const MOST_UPDATES = 5;

export class LeaseController {
  #client;
  #clock;
  #options;
  #latest;

  constructor(client, clock, options) {
    this.#client = client;
    this.#clock = clock;
    this.#options = options;
  }

  async sync() {
    if (this.#latest !== undefined && (await this.#update(this.#latest))) return "renewed";
    const { lease, isNew } = await this.#ensure();
    this.#latest = lease;
    if (isNew) return "created";
    return (await this.#update(lease)) ? "renewed" : "failed";
  }

  async #ensure() {
    for (let sleepMs = 200; ; sleepMs = Math.min(sleepMs * 2, 7000)) {
      const found = await this.#client.get(this.#options.nodeName);
      if (found.status === 200) return { lease: found.lease, isNew: false };
      if (found.status === 404) {
        const made = await this.#client.create(this.#renewed(undefined));
        if (made.status === 201) return { lease: made.lease, isNew: true };
      }
      await this.#clock.sleep(sleepMs);
    }
  }

  async #update(first) {
    let base = first;
    for (let i = 0; i < MOST_UPDATES; i++) {
      const answer = await this.#client.update(this.#renewed(base));
      if (answer.status === 200) {
        this.#latest = answer.lease;
        return true;
      }
      if (answer.status === 409) base = (await this.#ensure()).lease;
    }
    return false;
  }

  #renewed(base) {
    const { nodeName, leaseDurationSeconds } = this.#options;
    const lease = base ?? {
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: { name: nodeName, namespace: "kube-node-lease" },
      spec: { holderIdentity: nodeName, leaseDurationSeconds },
    };
    const renewTime = new Date(this.#clock.now()).toISOString().replace("Z", "000Z");
    return { ...lease, spec: { ...lease.spec, renewTime } };
  }
}
