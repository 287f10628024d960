// SPDX-License-Identifier: BSL-1.0
//
// go-redis with its default settings.
// usage: redis_go ADDRESS [CHECK...]     without these checks
package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

var ctx = context.Background()

func check(name string, run func() error) {
	if slices.Contains(os.Args[2:], name) {
		return
	}
	if err := run(); err != nil {
		fmt.Printf("FAILED: %s: %v\n", name, err)
		os.Exit(1)
	}
	fmt.Printf("ok: %s\n", name)
}

func values(db *redis.Client) error {
	var all sync.WaitGroup
	failures := make(chan error, 20)
	for worker := 0; worker < 20; worker++ {
		all.Add(1)
		go func() {
			defer all.Done()
			for i := 0; i < 50; i++ {
				key := fmt.Sprintf("go:%d", worker)
				if err := db.Set(ctx, key, i, time.Minute).Err(); err != nil {
					failures <- err
					return
				}
				if got, err := db.Get(ctx, key).Int(); err != nil || got != i {
					failures <- fmt.Errorf("%s: %d, not %d: %v", key, got, i, err)
					return
				}
			}
		}()
	}
	all.Wait()
	close(failures)
	return <-failures
}

func pipeline(db *redis.Client) error {
	db.Del(ctx, "go:{p}")
	replies, err := db.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i := 0; i < 100; i++ {
			p.Incr(ctx, "go:{p}")
		}
		return nil
	})
	if err != nil {
		return err
	}
	if last := replies[99].(*redis.IntCmd).Val(); last != 100 {
		return fmt.Errorf("the last INCR: %d", last)
	}
	return nil
}

func transaction(db *redis.Client) error {
	db.Del(ctx, "go:{t}")
	return db.Watch(ctx, func(tx *redis.Tx) error {
		_, err := tx.TxPipelined(ctx, func(p redis.Pipeliner) error {
			p.Set(ctx, "go:{t}", 1, 0)
			p.Incr(ctx, "go:{t}")
			return nil
		})
		return err
	}, "go:{t}")
}

func script(db *redis.Client) error {
	s := redis.NewScript("return redis.call('INCRBY', KEYS[1], ARGV[1])")
	for i := 0; i < 5; i++ {
		if err := s.Run(ctx, db, []string{"go:{s}"}, 2).Err(); err != nil {
			return err
		}
	}
	return nil
}

func messages(db *redis.Client) error {
	listener := db.Subscribe(ctx, "go:channel")
	defer listener.Close()
	if _, err := listener.Receive(ctx); err != nil {
		return err
	}
	if err := db.Publish(ctx, "go:channel", "hello").Err(); err != nil {
		return err
	}
	limit, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	got, err := listener.ReceiveMessage(limit)
	if err != nil || got.Payload != "hello" {
		return fmt.Errorf("%v, %v", got, err)
	}
	return nil
}

func blocking(db *redis.Client) error {
	db.Del(ctx, "go:{l}")
	go db.RPush(ctx, "go:{l}", "x")
	_, err := db.BLPop(ctx, 5*time.Second, "go:{l}").Result()
	return err
}

func cluster() error {
	db := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{os.Args[1]}})
	defer db.Close()
	for i := 0; i < 100; i++ {
		key := fmt.Sprintf("go:c%d", i)
		if err := db.Set(ctx, key, i, time.Minute).Err(); err != nil {
			return err
		}
		if got, err := db.Get(ctx, key).Int(); err != nil || got != i {
			return fmt.Errorf("%s: %d, not %d: %v", key, got, i, err)
		}
	}
	return nil
}

func main() {
	db := redis.NewClient(&redis.Options{Addr: os.Args[1]})
	defer db.Close()
	check("values", func() error { return values(db) })
	check("a pipeline", func() error { return pipeline(db) })
	check("a transaction", func() error { return transaction(db) })
	check("a script", func() error { return script(db) })
	check("messages", func() error { return messages(db) })
	check("a blocking command", func() error { return blocking(db) })
	check("a cluster's client", cluster)
}
