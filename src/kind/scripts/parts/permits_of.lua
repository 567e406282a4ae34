-- SPDX-License-Identifier: BSL-1.0
local function words(text)
    local found = {}
    for word in text:gmatch('%S+') do
        found[#found + 1] = word
    end
    return found
end
-- Returns those of the named permits that have this owner and end later than that, in ascending order. If none are named, it
-- looks at all.
local function permits_of(owner, named, moment)
    local fields, ours = named[1] and named or redis.call('hkeys', KEYS[1]), {}
    -- A hash with more than 1024 permits and `next` is another program's, and may be too large for unpack.
    if fields[1026] then
        return ours
    end
    for i, value in ipairs(redis.call('hmget', KEYS[1], unpack(fields))) do
        if value and value:sub(1, 32) == owner and (not moment or (tonumber(value:sub(33)) or 0) > moment) then
            ours[#ours + 1] = fields[i]
        end
    end
    table.sort(ours, function(a, b) return tonumber(a) < tonumber(b) end)
    return ours
end
