// A node agent with Go's standard library: a start that passes level 1 of `kubelab grade`.
//
//	go build -o agent agent.go && kubelab grade -- ./agent {kubeconfig} {node}
//
// It registers a Node, reports its conditions and keeps its Lease. It runs no pods yet: that is yours to write.
package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"strconv"
	"syscall"
	"time"
)

const (
	leaseDurationSeconds = 40
	// A quarter of the duration. time.Duration(40 * 0.25) would be 10 nanoseconds.
	renewInterval = leaseDurationSeconds * time.Second / 4
	maxWait       = 7 * time.Second
	nodeLeases    = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
)

type object = map[string]any

// clock is the cluster's if KUBELAB_TIME names it, otherwise this machine's.
type clock struct{ url string }

func (c clock) ask(path string) time.Time {
	response, err := http.Get(c.url + path)
	if err != nil {
		log.Fatal(err)
	}
	defer response.Body.Close()
	var reading struct{ NowMs int64 }
	if err := json.NewDecoder(response.Body).Decode(&reading); err != nil {
		log.Fatal(err)
	}
	return time.UnixMilli(reading.NowMs).UTC()
}

func (c clock) now() time.Time {
	if c.url == "" {
		return time.Now().UTC()
	}
	return c.ask("/now")
}

func (c clock) sleep(d time.Duration) {
	if c.url == "" {
		time.Sleep(d)
		return
	}
	c.ask(fmt.Sprintf("/sleep?ms=%d", d.Milliseconds()))
}

// api is the API server of a kubeconfig that holds its certificates itself.
type api struct {
	server string
	client *http.Client
}

func newAPI(kubeconfig string) (*api, error) {
	text, err := os.ReadFile(kubeconfig)
	if err != nil {
		return nil, err
	}
	field := func(name string) string {
		found := regexp.MustCompile(name + `: "?([^"\s]+)`).FindSubmatch(text)
		if found == nil {
			log.Fatalf("%s has no %s", kubeconfig, name)
		}
		return string(found[1])
	}
	pem := func(name string) []byte {
		decoded, err := base64.StdEncoding.DecodeString(field(name))
		if err != nil {
			log.Fatal(err)
		}
		return decoded
	}
	pair, err := tls.X509KeyPair(pem("client-certificate-data"), pem("client-key-data"))
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem("certificate-authority-data"))
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair}}}
	return &api{field("server"), &http.Client{Transport: transport, Timeout: 30 * time.Second}}, nil
}

// request returns the status and the object; status 0 without an answer.
func (a *api) request(method, path string, body object) (int, object) {
	var sent io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			log.Fatal(err)
		}
		sent = bytes.NewReader(text)
	}
	request, err := http.NewRequest(method, a.server+path, sent)
	if err != nil {
		log.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := a.client.Do(request)
	if err != nil {
		return 0, object{"message": err.Error()}
	}
	defer response.Body.Close()
	answer := object{}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return 0, object{"message": err.Error()}
	}
	return response.StatusCode, answer
}

type node struct {
	*api
	clock
	name string
	uid  string
}

// register creates the Node, or finds the one of an earlier run. It tries until the API server answers.
func (n *node) register() {
	for wait := 100 * time.Millisecond; ; wait = min(2*wait, maxWait) {
		status, answer := n.request("POST", "/api/v1/nodes", n.object())
		if status == 409 {
			status, answer = n.request("GET", "/api/v1/nodes/"+n.name, nil)
		}
		if status == 200 || status == 201 {
			n.uid = answer["metadata"].(object)["uid"].(string)
			return
		}
		log.Printf("cannot register: %d %v", status, answer["message"])
		n.sleep(wait)
	}
}

func (n *node) object() object {
	now := n.now().Format(time.RFC3339)
	condition := func(kind, status, reason string) object {
		return object{
			"type": kind, "status": status, "reason": reason, "message": "reported by agent.go",
			"lastHeartbeatTime": now, "lastTransitionTime": now,
		}
	}
	resources := object{"cpu": strconv.Itoa(runtime.NumCPU()), "memory": "2Gi", "pods": "110"}
	return object{
		"apiVersion": "v1", "kind": "Node",
		"metadata": object{"name": n.name, "labels": object{
			"kubernetes.io/hostname": n.name, "kubernetes.io/os": runtime.GOOS, "kubernetes.io/arch": runtime.GOARCH,
		}},
		"status": object{
			"capacity": resources, "allocatable": resources,
			"addresses": []object{
				{"type": "InternalIP", "address": "127.0.0.1"}, {"type": "Hostname", "address": n.name},
			},
			"nodeInfo": object{
				"machineID": n.name, "systemUUID": n.name, "bootID": n.name, "kernelVersion": "unknown",
				"osImage": runtime.GOOS, "containerRuntimeVersion": "none://0", "kubeletVersion": "v1.25.0-agent.go",
				"kubeProxyVersion": "v1.25.0", "operatingSystem": runtime.GOOS, "architecture": runtime.GOARCH,
			},
			"conditions": []object{
				condition("MemoryPressure", "False", "KubeletHasSufficientMemory"),
				condition("DiskPressure", "False", "KubeletHasNoDiskPressure"),
				condition("PIDPressure", "False", "KubeletHasSufficientPID"),
				condition("Ready", "True", "KubeletReady"),
			},
		},
	}
}

// lease is the node's heartbeat: without it, the Node is Unknown after 40 s.
type lease struct {
	*node
	known object // as it was last read or written
}

// renew updates the Lease that it knows; it reads or creates it if that fails, and waits longer after each failure.
func (l *lease) renew() {
	for wait := 100 * time.Millisecond; ; wait = min(2*wait, maxWait) {
		if l.known == nil {
			l.known = l.readOrCreate()
		}
		if l.known != nil {
			l.known["spec"] = l.spec()
			status, answer := l.request("PUT", nodeLeases+"/"+l.name, l.known)
			if status == 200 {
				l.known = answer
				return
			}
			// A conflict, or a failure: read it again before the next attempt.
			l.known = nil
			log.Printf("cannot renew the Lease: %d %v", status, answer["message"])
		}
		l.sleep(wait)
	}
}

func (l *lease) readOrCreate() object {
	status, answer := l.request("GET", nodeLeases+"/"+l.name, nil)
	if status == 404 {
		owner := object{"apiVersion": "v1", "kind": "Node", "name": l.name, "uid": l.uid}
		status, answer = l.request("POST", nodeLeases, object{
			"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
			"metadata": object{"name": l.name, "namespace": "kube-node-lease", "ownerReferences": []object{owner}},
			"spec":     l.spec(),
		})
	}
	if status == 200 || status == 201 {
		return answer
	}
	return nil
}

func (l *lease) spec() object {
	return object{
		"holderIdentity": l.name, "leaseDurationSeconds": leaseDurationSeconds,
		"renewTime": l.now().Format("2006-01-02T15:04:05.000000Z07:00"),
	}
}

func min(a, b time.Duration) time.Duration {
	if a < b {
		return a
	}
	return b
}

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: agent KUBECONFIG NODE")
	}
	terminated := make(chan os.Signal, 1)
	signal.Notify(terminated, syscall.SIGTERM)
	go func() {
		<-terminated
		os.Exit(0)
	}()
	server, err := newAPI(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	n := &node{api: server, clock: clock{os.Getenv("KUBELAB_TIME")}, name: os.Args[2]}
	n.register()
	log.Printf("Node %s is registered", n.name)
	heartbeat := &lease{node: n}
	for {
		heartbeat.renew()
		n.sleep(renewInterval)
	}
}
