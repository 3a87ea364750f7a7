-- SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
--
-- Wireshark: what cairn adds to RoCEv2 (Documentation/wire.rst). Wireshark's own
-- dissector reads the BTH of these packets and shows the rest as vendor data;
-- this one names the opcodes, reads the rest, and says which frame a persistence
-- acknowledgement belongs to.
--
--   tshark -X lua_script:cairn.lua -r FILE
--   wireshark -X lua_script:cairn.lua, or copy it to the personal Lua plugins

local cairn = Proto("cairn", "cairn persistence")

local ROCE_PORT = 4791
local BTH_BYTES, RETH_BYTES, AETH_BYTES, IMM_BYTES, ICRC_BYTES = 12, 16, 4, 4, 4
local PERSIST_ACK = 0xc8
-- the question to a peer: a datagram to QP 1, of a vendor class
local UD_SEND_ONLY, DETH_BYTES, MAD_BYTES = 0x64, 8, 256
local MAD_CLASS, MAD_OUI = 0x3c, 0xc61a7d

-- headers after the BTH: R RETH, A AETH, and imm: immediate data; does the packet carry payload, and end
-- its message?
local opcodes = {
	[0xc0] = { name = "RC WRITE_PERSIST First", ext = "R", data = true },
	[0xc1] = { name = "RC WRITE_PERSIST Middle", data = true },
	[0xc2] = { name = "RC WRITE_PERSIST Last", data = true, last = true },
	[0xc3] = { name = "RC WRITE_PERSIST Only", ext = "R", data = true, last = true },
	[0xc4] = { name = "RC WRITE_PERSIST Last with Immediate", imm = true, data = true,
		   last = true },
	[0xc5] = { name = "RC WRITE_PERSIST Only with Immediate", ext = "R", imm = true,
		   data = true, last = true },
	[PERSIST_ACK] = { name = "RC PERSIST ACK", ext = "A" },
}

local durabilities = {
	[0] = "unknown", [1] = "NIC flush, eADR", [2] = "NIC flush, ADR", [3] = "host flush",
	[4] = "emulated",
}

local names = {}
for code, op in pairs(opcodes) do
	names[code] = op.name
end

local f = cairn.fields
f.opcode = ProtoField.uint8("cairn.opcode", "Opcode", base.HEX, names)
f.va = ProtoField.uint64("cairn.reth.va", "Virtual address", base.HEX)
f.rkey = ProtoField.uint32("cairn.reth.r_key", "Remote key", base.HEX)
f.dmalen = ProtoField.uint32("cairn.reth.dmalen", "DMA length", base.DEC)
f.syndrome = ProtoField.uint8("cairn.aeth.syndrome", "Syndrome", base.HEX)
f.durability = ProtoField.uint8("cairn.durability", "Durability", base.DEC, durabilities, 0x7f)
f.msn = ProtoField.uint24("cairn.aeth.msn", "Message sequence number", base.DEC)
f.imm = ProtoField.uint32("cairn.immdt", "Immediate data", base.HEX)
f.data = ProtoField.bytes("cairn.data", "Payload")
f.durable = ProtoField.bool("cairn.durable", "Durable")
f.message = ProtoField.framenum("cairn.message_in", "Message ends in", base.NONE,
				frametype.REQUEST)
f.persisted = ProtoField.framenum("cairn.persisted_in", "Acknowledged as durable in",
				  base.NONE, frametype.RESPONSE)
f.time = ProtoField.relative_time("cairn.persist_time", "Time to durability")

f.answer = ProtoField.bool("cairn.peer.answer", "Answer")
f.known = ProtoField.bool("cairn.peer.known", "Knows WRITE_PERSIST")
f.kinds = ProtoField.uint32("cairn.peer.kinds", "Kinds of regions", base.HEX)
f.unit = ProtoField.uint32("cairn.peer.atomic_unit", "Atomic unit", base.DEC)
f.waiting = ProtoField.uint32("cairn.peer.max_outstanding", "Host flushes that wait", base.DEC)
f.abilities = ProtoField.uint32("cairn.peer.abilities", "Abilities", base.HEX)
f.max_msg = ProtoField.uint64("cairn.peer.max_msg", "Longest message", base.DEC)

-- A message's last packet and its acknowledgement are matched by addresses and
-- PSN, since each names only the QP that it goes to: with two connections between
-- the same hosts and equal PSNs it is a guess. An ACK covers what waits before it.
local waiting, message_of, ack_of, times

function cairn.init()
	waiting, message_of, ack_of, times = {}, {}, {}, {}
end

local function flow(from, to)
	return tostring(from) .. " " .. tostring(to)
end

-- distance from b to a on the circle of PSNs
local function psn_after(a, b)
	return bit.band(a - b, 0xffffff) < 0x800000
end

local function learn_message(pinfo, qpn, psn)
	local key = flow(pinfo.src, pinfo.dst)
	local list = waiting[key] or {}

	waiting[key] = list
	for _, m in ipairs(list) do
		if m.psn == psn and m.qpn == qpn then	-- a retransmission
			return
		end
	end
	list[#list + 1] = { qpn = qpn, psn = psn, frame = pinfo.number, time = pinfo.rel_ts }
end

local function learn_ack(pinfo, psn)
	local list = waiting[flow(pinfo.dst, pinfo.src)] or {}
	local rest, exact = {}, nil

	for _, m in ipairs(list) do
		if m.psn == psn and not exact then
			exact = m
		end
	end
	for _, m in ipairs(list) do
		if exact and m.qpn == exact.qpn and psn_after(psn, m.psn) then
			ack_of[m.frame] = pinfo.number
			times[m.frame] = pinfo.rel_ts - m.time
		else
			rest[#rest + 1] = m
		end
	end
	if exact then
		message_of[pinfo.number] = exact.frame
		times[pinfo.number] = pinfo.rel_ts - exact.time
		waiting[flow(pinfo.dst, pinfo.src)] = rest
	end
end

local function nstime(seconds)
	local whole = math.floor(seconds)

	return NSTime(whole, math.floor((seconds - whole) * 1e9 + 0.5))
end

local function show_time(tree, number)
	if times[number] then
		tree:add(f.time, nstime(times[number])):set_generated()
	end
end

local function reth(tvb, tree)
	tree:add(f.va, tvb(0, 8))
	tree:add(f.rkey, tvb(8, 4))
	tree:add(f.dmalen, tvb(12, 4))
	return string.format(" VA=0x%s len=%u", tvb(0, 8):uint64():tohex(), tvb(12, 4):uint())
end

local function aeth(tvb, tree, pinfo)
	-- the upper bits of an ACK's syndrome are zero, the others are credits
	local durable = bit.band(tvb(0, 1):uint(), 0xe0) == 0

	tree:add(f.syndrome, tvb(0, 1))
	tree:add(f.msn, tvb(1, 3))
	tree:add(f.durable, durable):set_generated()
	if message_of[pinfo.number] then
		tree:add(f.message, message_of[pinfo.number]):set_generated()
	end
	show_time(tree, pinfo.number)
	return durable and " durable" or " NOT durable"
end

local function payload(tvb, len, tree, pinfo)
	if len > 0 then
		tree:add(f.data, tvb(0, len))
	end
	if ack_of[pinfo.number] then
		tree:add(f.persisted, ack_of[pinfo.number]):set_generated()
	end
	show_time(tree, pinfo.number)
	return string.format(" payload=%d", len)
end

-- the packet from its BTH on
local function dissect(tvb, pinfo, root, op)
	local opcode, qpn, psn = tvb(0, 1):uint(), tvb(5, 3):uint(), tvb(9, 3):uint()
	local pad = bit.band(bit.rshift(tvb(1, 1):uint(), 4), 3)
	local ext_bytes = op.ext == "R" and RETH_BYTES or op.ext == "A" and AETH_BYTES or 0
	local data_at = BTH_BYTES + ext_bytes + (op.imm and IMM_BYTES or 0)
	local data = tvb:len() - data_at - pad - ICRC_BYTES
	local text = ""

	if data < 0 then
		return
	end
	if not pinfo.visited then
		if op.last then
			learn_message(pinfo, qpn, psn)
		elseif opcode == PERSIST_ACK then
			learn_ack(pinfo, psn)
		end
	end
	local tree = root:add(cairn, tvb())
	tree:add(f.opcode, tvb(0, 1))
	if op.ext == "R" then
		text = reth(tvb(BTH_BYTES, RETH_BYTES), tree)
	elseif op.ext == "A" then
		text = aeth(tvb(BTH_BYTES, AETH_BYTES), tree, pinfo)
		tree:add(f.durability, tvb(8, 1))
	end
	if op.imm then
		local imm = tvb(BTH_BYTES + ext_bytes, IMM_BYTES)

		tree:add(f.imm, imm)
		text = text .. string.format(" imm=0x%08x", imm:uint())
	end
	if op.data then
		text = text .. payload(tvb(data_at), data, tree, pinfo)
	end
	text = string.format("%s QP=0x%06x PSN=%u%s", op.name, qpn, psn, text)
	tree:append_text(": " .. text)
	pinfo.cols.info = text
end

-- the question to a peer, or its answer, from the MAD header on
local function dissect_mad(mad, pinfo, root)
	local answer = mad(3, 1):uint() == 0x81
	local known = answer and mad(4, 2):uint() == 0
	local tree = root:add(cairn, mad)
	local text = "durability of the peer?"

	tree:add(f.answer, mad(3, 1), answer)
	if answer then
		tree:add(f.known, mad(4, 2), known)
		text = "peer does not know WRITE_PERSIST"
	end
	if known then
		tree:add(f.kinds, mad(40, 4))
		tree:add(f.unit, mad(44, 4))
		tree:add(f.waiting, mad(48, 4))
		tree:add(f.abilities, mad(52, 4))
		tree:add(f.max_msg, mad(56, 8))
		text = "durability of this peer"
	end
	tree:append_text(": " .. text)
	pinfo.cols.info = text
end

local function is_mad(tvb)
	local at = BTH_BYTES + DETH_BYTES

	return tvb:len() == at + MAD_BYTES + ICRC_BYTES and tvb(0, 1):uint() == UD_SEND_ONLY and
		tvb(5, 3):uint() == 1 and tvb(at + 1, 1):uint() == MAD_CLASS and
		tvb(at + 37, 3):uint() == MAD_OUI
end

-- in front of Wireshark's own, which stays in charge of everything else
local udp = DissectorTable.get("udp.port")
local roce = udp:get_dissector(ROCE_PORT)

function cairn.dissector(tvb, pinfo, root)
	local op = tvb:len() >= BTH_BYTES and opcodes[tvb(0, 1):uint()]

	roce:call(tvb, pinfo, root)
	if op then
		dissect(tvb, pinfo, root, op)
	elseif is_mad(tvb) then
		dissect_mad(tvb(BTH_BYTES + DETH_BYTES, MAD_BYTES), pinfo, root)
	end
end

udp:set(ROCE_PORT, cairn)
