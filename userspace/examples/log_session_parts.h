/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Functions of a session that its two files share; programs use log_session.h. */
#ifndef LOG_SESSION_PARTS_H
#define LOG_SESSION_PARTS_H

#include "log_session.h"

/* ---- log_session.c ---- */

/* Keeps the first reason. Return: @err */
int log_session_fail(struct log_session *session, int err, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Milliseconds that a target has for an answer. */
uint32_t log_session_patience(const struct log_session *session);
struct log_ask log_session_ask(const struct log_session *session);
/* Return: 0, or an errno and the reason in @peer. */
int log_peer_claim(struct log_session *session, struct log_peer *peer,
		   const struct log_ask *ask);
/* It takes no part until it is claimed again. */
void log_peer_leave(struct log_session *session, struct log_peer *peer, int err,
		    uint8_t verdict);

/* ---- log_session_level.c ---- */

/* Writes to @peer, and waits until it is durable. */
int log_session_write(struct log_session *session, struct log_peer *peer,
		      uint64_t offset, const void *bytes, uint32_t length);
/* @peer->error says which of two peers has failed. */
int log_session_fetch(struct log_session *session, struct log_peer *peer,
		      uint64_t offset, void *buffer, uint32_t length);
/* Makes @peer's log that of @source. */
int log_session_bring(struct log_session *session, struct log_peer *peer,
		      struct log_peer *source);
/* All targets that are claimed get the log of the one that has all reported records. */
int log_session_level(struct log_session *session);

#endif /* LOG_SESSION_PARTS_H */
