// SPDX-License-Identifier: BSL-1.0
// redsync over go-redis' pools. With -variant fail-fast it does not wait for replies after the majority's.
package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand"
	"time"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

type mutex struct{ *redsync.Mutex }

func (m mutex) Lock(wait context.Context) error {
	return m.LockContext(wait)
}

func (m mutex) Unlock(wait context.Context) error {
	if good, err := m.UnlockContext(wait); !good {
		return fmt.Errorf("not given back: %v", err)
	}
	return nil
}

func connect() *redsync.Redsync {
	var pools []redsyncredis.Pool
	for _, address := range addresses() {
		// One connection for each worker: a go-redis client sends one command at a time on each.
		settings := redis.Options{Addr: address, PoolSize: *workers + 2}
		if *variant == "timeouts" {
			settings.ReadTimeout, settings.MaxRetries = 50*time.Millisecond, -1
		}
		client := redis.NewClient(&settings)
		pools = append(pools, goredis.NewPool(client))
	}
	return redsync.New(pools...)
}

func options() []redsync.Option {
	out := []redsync.Option{redsync.WithExpiry(10 * time.Second), redsync.WithTries(1 << 30)}
	if *variant == "fail-fast" {
		out = append(out, redsync.WithFailFast(true))
	}
	if *pauseMs != "" {
		var low, high int
		_, err := fmt.Sscanf(*pauseMs, "%d-%d", &low, &high)
		check(err)
		out = append(out, redsync.WithRetryDelayFunc(func(int) time.Duration {
			return time.Duration(low)*time.Millisecond + time.Duration(rand.Int63n(int64(high-low+1)*int64(time.Millisecond)))
		}))
	}
	return out
}

func main() {
	flag.Parse()
	locks := connect()
	conduct(func(key string) lock { return mutex{locks.NewMutex(key, options()...)} })
}
