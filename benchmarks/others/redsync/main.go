// SPDX-License-Identifier: BSL-1.0
// redsync over go-redis' pools. With -variant fail-fast it does not wait for replies after the majority's.
package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
	"golang.org/x/sys/unix"
)

const workersSampled = 16

var (
	nodes    = flag.String("nodes", "", "host:port,...")
	workload = flag.String("workload", "cycles", "cycles, contended or convoy")
	workers  = flag.Int("workers", 1, "at once")
	holdUs   = flag.Int64("hold-us", 0, "how long a lock is held")
	pauseMs  = flag.String("pause-ms", "", "LOW-HIGH between attempts, instead of redsync's own")
	variant  = flag.String("variant", "", "fail-fast, timeouts or nothing")
	samples  = flag.String("samples", "", "file")
	run      = flag.String("run", "", "part of every key")
)

type record struct {
	sync.Mutex
	begins, ends int64
	done         uint64
	samples      []int64
	failures     map[string]uint64
}

func now() int64 {
	var at unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &at); err != nil {
		panic(err)
	}
	return at.Nano()
}

func (r *record) cycle(worker int, asked, granted, releasing, released int64) {
	if released < r.begins || released >= r.ends {
		return
	}
	r.Lock()
	defer r.Unlock()
	r.done++
	if *workload != "cycles" || worker < workersSampled {
		r.samples = append(r.samples, int64(worker), asked, granted, releasing, released)
	}
}

func (r *record) failure(text string) {
	r.Lock()
	defer r.Unlock()
	r.failures[text]++
}

func (r *record) finish() {
	r.Lock()
	file, err := os.Create(*samples)
	check(err)
	out := bufio.NewWriter(file)
	check(binary.Write(out, binary.LittleEndian, r.samples))
	check(out.Flush())
	check(file.Close())
	told, err := json.Marshal(map[string]any{"done": r.done, "failures": r.failures})
	check(err)
	fmt.Println(string(told))
	os.Exit(0)
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func connect() *redsync.Redsync {
	var pools []redsyncredis.Pool
	for _, address := range strings.Split(*nodes, ",") {
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

func key(worker int) string {
	if *workload != "cycles" {
		return "contended:" + *run
	}
	return fmt.Sprintf("own:%s:%d", *run, worker)
}

func work(locks *redsync.Redsync, worker int, seen *record, over func()) {
	mutex := locks.NewMutex(key(worker), options()...)
	defer over()
	for again := true; again; again = *workload != "convoy" {
		asked := now()
		if err := mutex.LockContext(context.Background()); err != nil {
			seen.failure(err.Error())
			continue
		}
		granted := now()
		if *holdUs > 0 {
			time.Sleep(time.Duration(*holdUs) * time.Microsecond)
		}
		releasing := now()
		if good, err := mutex.UnlockContext(context.Background()); !good {
			seen.failure(fmt.Sprint("unlock: ", err))
		}
		seen.cycle(worker, asked, granted, releasing, now())
	}
}

// A round ends when all workers have had their turn, which is never unless they are a convoy.
func rounds(locks *redsync.Redsync, seen *record) {
	for {
		var all sync.WaitGroup
		all.Add(*workers)
		for worker := 0; worker != *workers; worker++ {
			go work(locks, worker, seen, all.Done)
		}
		all.Wait()
	}
}

func main() {
	flag.Parse()
	locks := connect()
	warm := locks.NewMutex(fmt.Sprint("warm:", *run, now()), options()...)
	check(warm.Lock())
	_, err := warm.Unlock()
	check(err)
	fmt.Println("ready")
	seen := &record{failures: map[string]uint64{}}
	_, err = fmt.Scan(&seen.begins, &seen.ends)
	check(err)
	go rounds(locks, seen)
	time.Sleep(time.Duration(seen.ends - now()))
	seen.finish()
}
