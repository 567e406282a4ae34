// SPDX-License-Identifier: BSL-1.0
// The line protocol (README.md), for drivers in Go: it is copied beside their main.go.
package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const workersSampled = 16

var (
	nodes    = flag.String("nodes", "", "host:port,...")
	workload = flag.String("workload", "cycles", "cycles, contended, convoy or elections")
	workers  = flag.Int("workers", 1, "at once")
	holdUs   = flag.Int64("hold-us", 0, "how long a lock is held")
	pauseMs  = flag.String("pause-ms", "", "LOW-HIGH between attempts, instead of the library's own")
	variant  = flag.String("variant", "", "how the library is used, if not in the usual way")
	samples  = flag.String("samples", "", "file")
	run      = flag.String("run", "", "part of every key")
)

// What a worker takes and gives back.
type lock interface {
	Lock(context.Context) error
	Unlock(context.Context) error
}

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

func addresses() []string {
	return strings.Split(*nodes, ",")
}

func key(worker int) string {
	if *workload != "cycles" {
		return "contended:" + *run
	}
	return fmt.Sprintf("own:%s:%d", *run, worker)
}

func work(mine lock, worker int, seen *record, over func()) {
	defer over()
	for again := true; again; again = *workload != "convoy" {
		asked := now()
		if err := mine.Lock(context.Background()); err != nil {
			seen.failure(err.Error())
			continue
		}
		granted := now()
		if *holdUs > 0 {
			time.Sleep(time.Duration(*holdUs) * time.Microsecond)
		}
		releasing := now()
		if err := mine.Unlock(context.Background()); err != nil {
			seen.failure(fmt.Sprint("unlock: ", err))
		}
		seen.cycle(worker, asked, granted, releasing, now())
	}
}

// A round ends when all workers have had their turn, which is never unless they are a convoy.
func rounds(locks []lock, seen *record) {
	for {
		var all sync.WaitGroup
		all.Add(*workers)
		for worker, mine := range locks {
			go work(mine, worker, seen, all.Done)
		}
		all.Wait()
	}
}

// All but the library: newLock makes one for a worker, by its key.
func conduct(newLock func(key string) lock) {
	warm := newLock(fmt.Sprint("warm:", *run, now()))
	check(warm.Lock(context.Background()))
	check(warm.Unlock(context.Background()))
	var locks []lock
	for worker := 0; worker != *workers; worker++ {
		locks = append(locks, newLock(key(worker)))
	}
	fmt.Println("ready")
	seen := &record{failures: map[string]uint64{}}
	_, err := fmt.Scan(&seen.begins, &seen.ends)
	check(err)
	go rounds(locks, seen)
	time.Sleep(time.Duration(seen.ends - now()))
	seen.finish()
}
