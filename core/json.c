#include "core/json.h"

/* The length of the UTF-8 character at `text`; 0: there is none. */
static int character_length(const char *text)
{
    const unsigned char *c = (const unsigned char *)text;
    int length = *c < 0x80                 ? 1
                 : *c >= 0xc2 && *c < 0xe0 ? 2
                 : *c >= 0xe0 && *c < 0xf0 ? 3
                 : *c >= 0xf0 && *c < 0xf5 ? 4
                                           : 0;
    for (int i = 1; i < length; i++)
        if ((c[i] & 0xc0) != 0x80)
            return 0;
    bool is_overlong = (*c == 0xe0 && c[1] < 0xa0) || (*c == 0xf0 && c[1] < 0x90);
    bool is_no_character = (*c == 0xed && c[1] >= 0xa0) || (*c == 0xf4 && c[1] >= 0x90);
    return is_overlong || is_no_character ? 0 : length;
}

void json_string(FILE *out, const char *text)
{
    fputc('"', out);
    for (int length; *text; text += length ? length : 1) {
        unsigned char c = (unsigned char)*text;
        length = character_length(text);
        if (c == '"' || c == '\\')
            fprintf(out, "\\%c", c);
        else if (c < 0x20 || !length)
            fprintf(out, "\\u%04x", c);
        else
            fwrite(text, 1, (size_t)length, out);
    }
    fputc('"', out);
}
