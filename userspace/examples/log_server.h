/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* A target: connections, and the flushes that the device asks for. */
#ifndef LOG_SERVER_H
#define LOG_SERVER_H

#include <stdbool.h>

#include "log_medium.h"

/* Runs until an error, or with @once until the first writer ends. */
int log_server_run(struct log_medium *medium, const char *port, bool once);

#endif /* LOG_SERVER_H */
