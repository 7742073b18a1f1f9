/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What must not become a store: a file with somebody's content in it, and
 * file systems that are not made of storage.
 *
 * Slots fill a store from its first byte to its last, so a store says what it
 * is in an extended attribute, together with its size: a copy of something
 * else over it has another one. Files without data, such as those of
 * truncate(1) and fallocate(1), are free.
 */
#ifndef HZ_STORE_GUARD_H
#define HZ_STORE_GUARD_H

#include <stdbool.h>

/* The name of the pseudo file system (proc, sysfs, ...) that `fd` lies on;
 * NULL where it is none. O_PATH will do. */
const char *hz_store_pseudo(int fd);

/* Is it a regular file with content that no store of ours has left? */
bool hz_store_foreign(int fd);

/* It has its size and is a store from now on. 0 or -errno: not every file
 * system keeps attributes; the next program then takes it for foreign. */
int hz_store_mark(int fd);

#endif
