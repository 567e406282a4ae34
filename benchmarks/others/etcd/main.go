// SPDX-License-Identifier: BSL-1.0
// etcd's concurrency package: Mutex, and Election of the workload elections. One client, and a session with a lease for
// each worker, since the workers of a session share what it holds.
package main

import (
	"context"
	"flag"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
)

type office struct{ *concurrency.Election }

func (o office) Lock(wait context.Context) error {
	return o.Campaign(wait, "127.0.0.1:8000")
}

func (o office) Unlock(wait context.Context) error {
	return o.Resign(wait)
}

func main() {
	flag.Parse()
	client, err := clientv3.New(clientv3.Config{Endpoints: addresses()})
	check(err)
	conduct(func(key string) lock {
		session, err := concurrency.NewSession(client, concurrency.WithTTL(10))
		check(err)
		if *workload == "elections" {
			return office{concurrency.NewElection(session, key)}
		}
		return concurrency.NewMutex(session, key)
	})
}
